import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";

/**
 * Moves the files that turbo wrote for a passed run into the cache, unless the tree changed during the run: then the
 * tests have not passed on the present tree. `hash` is the hash of the present tree. Turbo names its files by the hash
 * of the tree at the start of the run. Returns false if the tree changed.
 */
export function keepPass(written: string, cache: string, hash: string): boolean {
  const files = readdirSync(written);
  if (!files.every((name) => name.startsWith(hash))) return false;
  mkdirSync(cache, { recursive: true });
  for (const name of files) renameSync(join(written, name), join(cache, name));
  return true;
}
