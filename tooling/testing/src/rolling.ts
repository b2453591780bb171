import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const NEW = fileURLToPath(new URL("../../..", import.meta.url));
/**
 * Files of the present version that replace the same files of the older version: the setup of a test run, and the code
 * that makes test databases. Both must be of the same version.
 */
const HOOKS = ["test-database.ts", "cluster.ts", "global-setup.ts"].map((file) => `tooling/testing/src/${file}`);
const BESIDE = "services/collections/tests/processes/rolling-beside";
/** The tests of the older version that run by default: its flows, its API for lenders and its command line. */
const USUAL = ["packages/flows", "services/collections/tests/rest", "services/collections/tests/cli"];

const [ref, ...filters] = process.argv.slice(2);
if (ref === undefined) {
  process.stderr.write(
    "Usage: pnpm rolling <git ref of the older version> [test files…], for example: pnpm rolling v1.2.0\n",
  );
  process.exit(2);
}
process.exitCode = rolling(ref, filters.length > 0 ? filters : USUAL);

/**
 * Tests an older version (the git ref `ref`) on the schema of the present version. First, processes of both versions
 * run together on one database. Then the tests of the older version run, each on a database that the present version
 * has migrated. The exit code is 0 if everything passed.
 */
function rolling(ref: string, filters: readonly string[]): number {
  const older = mkdtempSync(join(tmpdir(), "collections-older-"));
  // Creates the worktree before the try block, so that `finally` removes it after any error.
  git("worktree", "add", "--force", "--detach", older, ref);
  try {
    run(older, "npx", ["-y", "pnpm@12", "install", "--frozen-lockfile", "--prefer-offline"]);
    // Replace the files that make the older version's test databases, because the older files may not support
    // TEST_DATABASES_MIGRATED_BY. With that variable the present version migrates the databases.
    for (const hook of HOOKS) copyFileSync(join(NEW, hook), join(older, hook));
    const name = `${ref} (${git("rev-parse", "--short", ref).trim()})`;
    print(`Processes of ${name} together with this version's, on one database that this version has migrated:`);
    const beside = vitest(NEW, [BESIDE], { OLDER_CHECKOUT: older });
    print(`The tests of ${name}, each on a database that this version has migrated: ${filters.join(" ")}`);
    const own = vitest(older, filters, { TEST_DATABASES_MIGRATED_BY: NEW });
    print(
      `Processes of both versions together: ${words(beside)}. Tests of ${name} on this version's schema: ${words(own)}.`,
    );
    const elsewhere = onTheirOwnSchema(older, filters);
    if (elsewhere.length > 0)
      print(
        `These tests migrated a database with the older version's own migrations, so they say nothing about the schema of this version: ${elsewhere.join(", ")}.`,
      );
    return beside === 0 && own === 0 ? 0 : 1;
  } finally {
    git("worktree", "remove", "--force", older);
    rmSync(older, { recursive: true, force: true });
  }
}

function vitest(checkout: string, files: readonly string[], settings: Record<string, string>): number {
  const { status } = spawnSync(join(checkout, "node_modules/.bin/vitest"), ["run", ...files], {
    cwd: checkout,
    stdio: "inherit",
    env: { ...process.env, ...settings, PATH: `${join(checkout, "node_modules/.bin")}:${process.env["PATH"]}` },
  });
  return status ?? 1;
}

/**
 * Returns the tests that start with an empty database. They migrate it with their own version, so they do not test our
 * schema.
 */
function onTheirOwnSchema(checkout: string, filters: readonly string[]): string[] {
  const search = ["grep", "-l", "emptyDatabase", "--", "*.test.ts"];
  const { stdout } = spawnSync("git", search, { cwd: checkout, encoding: "utf8" });
  return stdout.split("\n").filter((file) => file !== "" && filters.some((filter) => file.includes(filter)));
}

function run(cwd: string, command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: NEW, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

function print(line: string): void {
  process.stdout.write(`\n${line}\n`);
}

function words(status: number): string {
  return status === 0 ? "passed" : "failed";
}
