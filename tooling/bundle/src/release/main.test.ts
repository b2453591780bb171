import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { watch } from "node:fs/promises";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("main.ts", import.meta.url));
const COMMIT = ["--commit", "0123456789abcdef"];

test("pnpm release:make --help prints the usage with an example", () => {
  const { status, stdout } = make("--help");
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining("Example: pnpm rel") as string });
});

test.each([
  { args: ["--into", "x"], problem: "Unknown option '--into'" },
  { args: ["--to", ""], problem: '--to "" is empty. Name a folder' },
  { args: ["--to", "x.tar.gz"], problem: '--to "x.tar.gz" is the name of an archive. Add --tarball' },
  { args: ["--to", "x", "--tarball"], problem: '--to "x" must end with .tar.gz' },
  { args: ["--commit", "main"], problem: '--commit "main" must be a git commit' },
])("pnpm release:make $args exits with 2 and says what to write", ({ args, problem }) => {
  const { status, stderr } = make(...args);
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(problem) as string });
});

test("pnpm release:make refuses a folder with content and changes nothing in it", () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "notes.txt"), "keep me");
  const { status, stderr } = make("--to", folder);
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: expect.stringContaining("is not an empty folder") as string,
  });
  expect(readdirSync(folder)).toEqual(["notes.txt"]);
});

test("two runs on the same sources make the same files, in an empty folder and in a tarball", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "empty"));
  const first = made("--to", join(folder, "empty"));
  const archives = ["one.tar.gz", "two.tar.gz"].map((name) => join(folder, name));
  const packed = archives.map((path) => made("--to", path, "--tarball"));
  expect(packed.map(({ sha256 }) => sha256)).toEqual([first.sha256, first.sha256]);
  expect(readFileSync(archives[0]!).equals(readFileSync(archives[1]!))).toBe(true);
  expect(readdirSync(folder).toSorted()).toEqual(["empty", "one.tar.gz", "two.tar.gz"]);
  const check = spawnSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: join(folder, "empty") });
  expect(check.status).toBe(0);
});

test("an interrupted run leaves neither the release nor its draft", async () => {
  const folder = temporaryFolder();
  const firstChange = watch(folder)[Symbol.asyncIterator]().next();
  const child = spawn(process.execPath, [PROGRAM, "--to", join(folder, "release"), ...COMMIT]);
  await firstChange;
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([143, null]);
  expect(readdirSync(folder)).toEqual([]);
  expect(existsSync(join(folder, "release"))).toBe(false);
});

function make(...args: string[]) {
  return spawnSync(process.execPath, [PROGRAM, ...args], { encoding: "utf8", cwd: tmpdir() });
}

function made(...args: string[]): { sha256: string } {
  const { status, stdout, stderr } = make(...args, ...COMMIT, "--json");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout) as { sha256: string };
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "collections-make-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
