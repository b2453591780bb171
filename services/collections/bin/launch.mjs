// Runs the bundle of `pnpm build` if it was made from the present sources, and otherwise the sources themselves. The files
// in this folder are JavaScript. For TypeScript, Node would first load its code that removes types, which takes as long as
// a whole command.
import { readFileSync, statSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

const BUNDLE = new URL("../dist/service/", import.meta.url);
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * Runs a program of the service in this process.
 *
 * @param {"main" | "cli"} bundled the program's name in the bundle
 * @param {string} source the program's file in `src`
 */
export async function launch(bundled, source) {
  enableCompileCache();
  const program = isCurrent() ? new URL(`${bundled}.js`, BUNDLE) : new URL(`../src/${source}`, import.meta.url);
  await import(program.href);
}

/** Returns true if there is a bundle, and no file that the bundle was made from has changed. */
function isCurrent() {
  try {
    /** @type {[path: string, size: number, mtimeMs: number, ctimeMs: number, digest: string][]} */
    const inputs = JSON.parse(readFileSync(new URL("inputs.json", BUNDLE), "utf8"));
    return inputs.every(isSame);
  } catch {
    // No bundle, or a file is gone.
    return false;
  }
}

/** Returns whether a file is unchanged. Compares the content only if the size is the same and a time differs. */
function isSame([path, size, mtimeMs, ctimeMs, digest]) {
  const file = ROOT + path;
  const found = statSync(file);
  if (found.size !== size) return false;
  if (found.mtimeMs === mtimeMs && found.ctimeMs === ctimeMs) return true;
  // Load the crypto module only if a file must be hashed, because loading takes 5 ms.
  return process.getBuiltinModule("node:crypto").hash("sha256", readFileSync(file)) === digest;
}
