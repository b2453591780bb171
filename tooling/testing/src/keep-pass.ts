import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";

/**
 * Moves what turbo has written of a run into the cache when it is about the tree with this hash, and tells whether it
 * was. Turbo names a pass by the tree that it has begun with: one that was mended meanwhile has not passed.
 */
export function keepPass(written: string, cache: string, hash: string): boolean {
  const files = readdirSync(written);
  if (!files.every((name) => name.startsWith(hash))) return false;
  mkdirSync(cache, { recursive: true });
  for (const name of files) renameSync(join(written, name), join(cache, name));
  return true;
}
