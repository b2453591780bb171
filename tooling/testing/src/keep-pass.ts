import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";

/**
 * Moves the files that turbo wrote for a run into the cache if they belong to the tree with this hash. Returns whether
 * they do. Turbo names these files by the tree at the start of the run. If the tree changed during the run, the tests
 * have not passed on the present tree.
 */
export function keepPass(written: string, cache: string, hash: string): boolean {
  const files = readdirSync(written);
  if (!files.every((name) => name.startsWith(hash))) return false;
  mkdirSync(cache, { recursive: true });
  for (const name of files) renameSync(join(written, name), join(cache, name));
  return true;
}
