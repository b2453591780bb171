import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterFile } from "@collections/testing";
import { expect, test } from "vitest";
import { appendToAnchorFile, checkAnchorFile } from "../../src/anchors/file.ts";
import { runService } from "../fixtures/processes.ts";

const folder = await mkdtemp(join(tmpdir(), "anchors-"));
afterFile(() => rm(folder, { recursive: true }));

const linesOf = async (path: string) => (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");

test("concurrent appends to an anchor file keep every line whole", async () => {
  const path = join(folder, "shared.jsonl");
  const lines = Array.from({ length: 200 }, (_, index) => `${index}:`.padEnd(100_000, "x"));
  await Promise.all(lines.map((line) => appendToAnchorFile(path, line)));
  expect((await linesOf(path)).toSorted()).toEqual(lines.toSorted());
});

test("a line that is appended after an incomplete line begins on a new line of the anchor file", async () => {
  const path = join(folder, "torn.jsonl");
  await appendToAnchorFile(path, "first");
  await appendFile(path, '\n{"version":1,"envi');
  await appendToAnchorFile(path, "second");
  expect(await linesOf(path)).toEqual(["first", '{"version":1,"envi', "second"]);
});

test("an anchor file that cannot be written is rejected with advice", async () => {
  await expect(checkAnchorFile(join(folder, "missing", "anchors.jsonl"))).rejects.toThrow(
    /LEDGER_ANCHOR: cannot append to .* \(ENOENT\): create the folder of this file first/,
  );
  await expect(checkAnchorFile(folder)).rejects.toThrow(
    /\(EISDIR\): this path is a folder; give the path of a file in the folder/,
  );
  await expect(checkAnchorFile("/dev/null")).rejects.toThrow("LEDGER_ANCHOR: /dev/null is not a file");
});

test("a worker exits with 2 at the start if its anchor file cannot be written", async () => {
  const place = `file:${join(folder, "missing", "anchors.jsonl")}`;
  const { code, stderr, stdout } = await runService({
    DATABASE_URL: "postgres://127.0.0.1:1/nowhere",
    MASTER_KEY: "a".repeat(64),
    LEDGER_ANCHOR: place,
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("create the folder of this file first");
});
