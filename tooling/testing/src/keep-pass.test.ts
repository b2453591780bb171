import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { keepPass } from "./keep-pass.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-passes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const BEFORE = "fc0aab97f0043aa2";
const AFTER = "0123456789abcdef";

/**
 * Makes the files that turbo writes for a passed run: they are named by `hashes`, the hashes of the tree at the start
 * of the run. Without hashes, the run failed.
 */
function runOf(name: string, ...hashes: string[]): { written: string; cache: string } {
  const written = join(folder, name, "written");
  mkdirSync(written, { recursive: true });
  for (const hash of hashes) {
    for (const ending of [".tar.zst", "-meta.json"]) writeFileSync(join(written, `${hash}${ending}`), name);
  }
  return { written, cache: join(folder, name, "cache") };
}

test("caches the result of a passed run if the tree has not changed since the start", () => {
  const { written, cache } = runOf("same", BEFORE);
  expect(keepPass(written, cache, BEFORE)).toBe(true);
  expect(readdirSync(cache).toSorted()).toEqual([`${BEFORE}-meta.json`, `${BEFORE}.tar.zst`]);
});

test("does not cache the result of a passed run if the tree changed during the run", () => {
  const { written, cache } = runOf("changed", BEFORE);
  mkdirSync(cache);
  expect(keepPass(written, cache, AFTER)).toBe(false);
  expect(readdirSync(cache)).toEqual([]);
});

test("caches nothing of a failed run", () => {
  const { written, cache } = runOf("failed");
  expect(keepPass(written, cache, AFTER)).toBe(true);
  expect(readdirSync(cache)).toEqual([]);
});
