import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";

/**
 * Caches the result of a passed run of all tests, unless the tree changed during the run: then the tests have not
 * passed on the present tree. Turbo has written the result into files that are named by the hash of the tree at the
 * start of the run. `hash` is the hash of the present tree. Returns false if the tree changed.
 */
export function keepPass(written: string, cache: string, hash: string): boolean {
  const files = readdirSync(written);
  if (!files.every((name) => name.startsWith(hash))) return false;
  mkdirSync(cache, { recursive: true });
  for (const name of files) renameSync(join(written, name), join(cache, name));
  return true;
}
