import { spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { builtService, bundleName } from "./built-service.ts";
import { BUNDLES } from "./bundle.ts";

const PROGRAM = fileURLToPath(new URL("main.ts", import.meta.url));

test("pnpm build --help prints the usage with an example", () => {
  const { status, stdout } = build("--help");
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining("Example: pnpm build") as string });
});

test.each([
  { args: ["--name", "../src"], problem: '--name "../src" may only contain letters, digits and hyphens.' },
  { args: ["--name", ""], problem: '--name "" may only contain letters, digits and hyphens.' },
  { args: ["--to", "x"], problem: "Unknown option '--to'" },
])("pnpm build $args exits with 2 and deletes nothing", ({ args, problem }) => {
  const { status, stderr } = build(...args);
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(problem) as string });
  expect(existsSync(join(BUNDLES, "../src/main.ts"))).toBe(true);
});

test("pnpm build keeps the files of the earlier bundle for the processes that run it, and removes them after a month", () => {
  const folder = join(BUNDLES, "kept-by-a-test");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(folder, { recursive: true });
  // The last build is 40 days old, and replaced two others, one of them long ago.
  const ages = { "last-1a2b3c4d.js": 40, "recent-2b3c4d5e.js": 29, "ancient-5e6f7a8b.js": 31, "main.js": 40 };
  for (const [name, days] of Object.entries(ages)) {
    writeFileSync(join(folder, name), "old");
    const at = new Date(Date.now() - days * 24 * 3_600_000);
    utimesSync(join(folder, name), at, at);
  }
  writeFileSync(join(folder, "files.json"), JSON.stringify(["last-1a2b3c4d.js", "main.js"]));
  for (let builds = 1; builds <= 2; builds++) {
    expect(build("--name", "kept-by-a-test")).toMatchObject({ status: 0, stderr: "" });
    const names = readdirSync(folder);
    expect(names.filter((name) => /^(last|recent|ancient)-/.test(name)).toSorted()).toEqual([
      "last-1a2b3c4d.js",
      "recent-2b3c4d5e.js",
    ]);
    expect(names).toContain("inputs.json");
    expect(readFileSync(join(folder, "main.js"), "utf8")).not.toBe("old");
  }
  expect(globSync("kept-by-a-test-draft-*", { cwd: BUNDLES })).toEqual([]);
});

test("builtService returns files that exist", () => {
  const { main, cli } = builtService();
  expect([existsSync(main), existsSync(cli)]).toEqual([true, true]);
});

test("the name of a bundle changes with the sources and the libraries, but not with tests", () => {
  const root = mkdtempSync(join(tmpdir(), "bundle-name-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (path: string, text: string) => {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), text);
    return bundleName(root);
  };
  const first = write("packages/dogs/src/bark.ts", "export const BARK = 'woof';");
  expect(write("packages/dogs/src/bark.test.ts", "test('barks', () => {});")).toBe(first);
  expect(write("packages/dogs/src/bark.ts", "export const BARK = 'wuff';")).not.toBe(first);
  const second = bundleName(root);
  expect(write("pnpm-lock.yaml", "lockfileVersion: '9.0'")).not.toBe(second);
  expect(write("services/kennel/package.json", "{}")).not.toBe(second);
});

function build(...args: string[]) {
  return spawnSync(process.execPath, [PROGRAM, ...args], { encoding: "utf8" });
}
