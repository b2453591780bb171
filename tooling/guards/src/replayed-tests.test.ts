import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

interface Plan {
  tasks: [{ inputs: Record<string, string>; environmentVariables: { configured: string[] } }];
}

/**
 * Returns turbo's task for the tests, with these additional environment variables. It contains the inputs of the tests.
 */
async function planOfTests(settings: Record<string, string> = {}): Promise<Plan["tasks"][0]> {
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", ...settings };
  const turbo = join(ROOT, "node_modules/.bin/turbo");
  const args = ["run", "all-tests", "--dry=json"];
  const { stdout } = await promisify(execFile)(turbo, args, { cwd: ROOT, env, maxBuffer: 64 * 1024 * 1024 });
  return (JSON.parse(stdout) as Plan).tasks[0];
}

/** Returns every file of the tree except those that .gitignore names. */
async function filesOfTheTree(): Promise<string[]> {
  const ignored = (await readFile(join(ROOT, ".gitignore"), "utf8")).split("\n").filter(Boolean);
  const folders = new Set([".git", ...ignored.filter((name) => name.endsWith("/")).map((name) => name.slice(0, -1))]);
  const walk = async (folder: string): Promise<string[]> => {
    const entries = await readdir(folder, { withFileTypes: true });
    const kept = entries.filter(({ name }) => !folders.has(name) && !name.endsWith(".log"));
    const paths = kept.map((entry) => [entry, join(folder, entry.name)] as const);
    return (await Promise.all(paths.map(async ([entry, path]) => (entry.isDirectory() ? walk(path) : [path])))).flat();
  };
  return (await walk(ROOT)).map((path) => relative(ROOT, path)).toSorted();
}

test("a change of any file in the repository makes the tests run again", async () => {
  const files = await filesOfTheTree();
  expect(files.length).toBeGreaterThan(1_000);
  expect(Object.keys((await planOfTests()).inputs).toSorted()).toEqual(files);
});

test("a change of an environment variable makes the tests run again", async () => {
  const settings = { A_SETTING_OF_TOMORROW: "1", DATABASE_URL: "postgres://127.0.0.1/other", TEST_SURROUNDINGS: "1" };
  const { configured } = (await planOfTests({ ...settings, npm_lifecycle_event: "verify" })).environmentVariables;
  const names = configured.map((named) => named.split("=")[0]);
  expect(names).toEqual(expect.arrayContaining([...Object.keys(settings), "PATH"]));
  expect(names).not.toContain("npm_lifecycle_event");
});
