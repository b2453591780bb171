import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";

/**
 * Moves the files that turbo wrote for a run into the cache if they are for the tree with this hash. Returns whether
 * they were. Turbo names a pass by the tree at the start of the run; if the tree changed during the run, the tests have
 * not passed on the present tree.
 */
export function keepPass(written: string, cache: string, hash: string): boolean {
  const files = readdirSync(written);
  if (!files.every((name) => name.startsWith(hash))) return false;
  mkdirSync(cache, { recursive: true });
  for (const name of files) renameSync(join(written, name), join(cache, name));
  return true;
}
