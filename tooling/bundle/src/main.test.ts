import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { builtService } from "./built-service.ts";
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

test("builtService returns the same bundle until the sources change", () => {
  const { main, cli } = builtService();
  expect([existsSync(main), existsSync(cli)]).toEqual([true, true]);
  expect(builtService()).toEqual({ main, cli });
});

function build(...args: string[]) {
  return spawnSync(process.execPath, [PROGRAM, ...args], { encoding: "utf8" });
}
