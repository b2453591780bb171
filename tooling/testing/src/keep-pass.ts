import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Stores the report of a passed run of all tests in `folder`, under the hash of the tree. The hashes are those of the
 * tree before and after the run. Stores nothing and returns false if the tree changed during the run: then the tests
 * have not passed on the present tree.
 */
export function keepPass(folder: string, before: string, after: string, report: readonly string[]): boolean {
  if (before !== after) return false;
  mkdirSync(folder, { recursive: true });
  // A run that is killed here leaves no half report under the final name.
  const path = passPath(folder, after);
  writeFileSync(`${path}.part`, `${report.join("\n")}\n`);
  renameSync(`${path}.part`, path);
  return true;
}

/** Returns the report of a run that passed on the tree with this hash, or undefined if there is none. */
export function keptPass(folder: string, hash: string): string | undefined {
  const path = passPath(folder, hash);
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

function passPath(folder: string, hash: string): string {
  return join(folder, `${hash}.txt`);
}
