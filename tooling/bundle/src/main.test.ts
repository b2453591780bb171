import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
