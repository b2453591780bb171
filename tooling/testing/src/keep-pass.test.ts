import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { keepPass, keptPass } from "./keep-pass.ts";

const root = mkdtempSync(join(tmpdir(), "collections-passes-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const BEFORE = "fc0aab97f0043aa2";
const AFTER = "0123456789abcdef";

test("keepPass stores the report of a passed run for the unchanged tree", () => {
  const folder = join(root, "same");
  expect(keepPass(folder, BEFORE, BEFORE, ["a report", "2 passed, 0 failed"])).toBe(true);
  expect(keptPass(folder, BEFORE)).toBe("a report\n2 passed, 0 failed\n");
});

test("keepPass stores nothing if the tree changed during the run", () => {
  const folder = join(root, "changed");
  expect(keepPass(folder, BEFORE, AFTER, ["2 passed, 0 failed"])).toBe(false);
  expect(keptPass(folder, BEFORE)).toBeUndefined();
  expect(keptPass(folder, AFTER)).toBeUndefined();
});

test("keptPass returns nothing for a tree whose tests have not passed", () => {
  const folder = join(root, "other");
  keepPass(folder, BEFORE, BEFORE, ["2 passed, 0 failed"]);
  expect(keptPass(folder, AFTER)).toBeUndefined();
});

test("keptPass ignores a report that a killed run left half written", () => {
  const folder = join(root, "killed");
  keepPass(folder, BEFORE, BEFORE, ["2 passed, 0 failed"]);
  writeFileSync(join(folder, `${AFTER}.txt.part`), "2 passed");
  expect(keptPass(folder, AFTER)).toBeUndefined();
  expect(keepPass(folder, AFTER, AFTER, ["3 passed, 0 failed"])).toBe(true);
  expect(keptPass(folder, AFTER)).toBe("3 passed, 0 failed\n");
});
