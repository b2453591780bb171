import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BUNDLES, ROOT } from "./bundle.ts";

/** The files to run with Node. */
export interface BuiltService {
  /** The path of the service's program. */
  readonly main: string;
  /** The path of the program of the operators' CLI. */
  readonly cli: string;
}

/** The files that a bundle of the service is made from: our sources, the versions of all libraries, and the builder. */
const INPUTS = [
  "pnpm-lock.yaml",
  "{packages,services}/*/package.json",
  "{packages,services}/*/src/**/*.ts",
  "tooling/bundle/src/*.ts",
];

let built: BuiltService | undefined;

/**
 * Returns the bundle of the present source code. Builds it first if the source code has no bundle yet. The bundle's
 * folder is named after a hash of the source files, so a bundle is never older than the source code.
 */
export function builtService(): BuiltService {
  return (built ??= build());
}

function build(): BuiltService {
  const name = bundleName(ROOT);
  const folder = join(BUNDLES, name);
  if (!existsSync(folder)) {
    removeOld();
    // Run the bundler in a separate process, so that callers can be synchronous and do not import the bundler.
    execFileSync(process.execPath, [PROGRAM, "--name", name], { stdio: "pipe" });
  }
  return { main: join(folder, "main.js"), cli: join(folder, "cli.js") };
}

/** Removes the bundles of earlier sources. Keeps the bundles of today, because a process may still run one of them. */
function removeOld(): void {
  for (const folder of globSync(join(BUNDLES, "[0-9a-f]".repeat(HASH_DIGITS)))) {
    if (Date.now() - statSync(folder).mtimeMs > A_DAY_MS) rmSync(folder, { recursive: true, force: true });
  }
}

const HASH_DIGITS = 16;
const A_DAY_MS = 86_400_000;
const PROGRAM = fileURLToPath(new URL("main.ts", import.meta.url));

/**
 * Returns the name of the bundle of the source code in the folder `root`: a hash of everything that the bundle is made
 * of.
 */
export function bundleName(root: string): string {
  const hash = createHash("sha256");
  for (const path of globSync(INPUTS, { cwd: root, exclude: ["**/node_modules/**", "**/*.test.ts"] }).toSorted()) {
    const content = readFileSync(join(root, path));
    hash.update(`${path}\n${content.length}\n`).update(content);
  }
  return hash.digest("hex").slice(0, HASH_DIGITS);
}
