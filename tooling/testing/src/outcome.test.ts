import { describe, expect, test } from "vitest";
import { filesToRepeat, outcomeOf } from "./outcome.ts";
import type { FileResult, RunResult } from "./run-result.ts";

function fileResult(file: string, passed: number, failed: number): FileResult {
  const failures = Array.from({ length: failed }, (_, index) => ({ test: `test ${index}`, error: "broken" }));
  return { file, counts: { passed, failed, skipped: 0, leftOut: {} }, failures, durationMs: 1 };
}

/** The result of a first run, in which a steady file passed and each of `files` failed in one of its three tests. */
function firstRun(files: readonly string[], errors: RunResult["errors"] = [], isInterrupted = false): RunResult {
  return {
    isInterrupted,
    files: [fileResult("steady", 10, 0), ...files.map((file) => fileResult(file, 2, 1))],
    errors,
  };
}

/** The results of files that passed when they ran again. */
function secondRuns(...files: string[]): Map<string, FileResult> {
  return new Map(files.map((file) => [file, fileResult(file, 3, 0)]));
}

describe("filesToRepeat", () => {
  const files = Array.from({ length: 11 }, (_, index) => `file ${index}`);

  test("returns the failed files, up to ten", () => {
    expect(filesToRepeat(firstRun(["a", "b"]))).toEqual(["a", "b"]);
    expect(filesToRepeat(firstRun(files.slice(1)))).toHaveLength(10);
  });

  test("returns no file if more than ten failed", () => {
    expect(filesToRepeat(firstRun(files))).toEqual([]);
  });

  test("returns no file of an interrupted run", () => {
    expect(filesToRepeat(firstRun(["a"], [], true))).toEqual([]);
  });
});

describe("outcomeOf", () => {
  const broken = [{ error: "broken" }];

  test.each<[string, RunResult, Map<string, FileResult>, boolean, [passed: number, failed: number]]>([
    ["no failed file", firstRun([]), secondRuns(), true, [10, 0]],
    ["three unsteady files", firstRun(["a", "b", "c"]), secondRuns("a", "b", "c"), true, [19, 0]],
    ["four unsteady files", firstRun(["a", "b", "c", "d"]), secondRuns("a", "b", "c", "d"), false, [18, 4]],
    ["a file that failed twice", firstRun(["a"]), secondRuns(), false, [12, 1]],
    ["an unsteady file beside a file that failed twice", firstRun(["a", "b"]), secondRuns("a"), false, [15, 1]],
    ["an error outside of files", firstRun([], broken), secondRuns(), false, [10, 1]],
    ["an interruption without a failed file", firstRun([], [], true), secondRuns(), false, [10, 1]],
  ])("of %s counts the tests of the last run", (_case, first, second, passed, counts) => {
    const outcome = outcomeOf(first, second);
    expect(outcome.passed).toBe(passed);
    expect([outcome.counts.passed, outcome.counts.failed]).toEqual(counts);
  });

  test("lists unsteady files with the result of their first run", () => {
    const { unsteady, failed } = outcomeOf(firstRun(["a", "b"]), secondRuns("a"));
    expect(unsteady).toEqual([fileResult("a", 2, 1)]);
    expect(failed).toEqual([fileResult("b", 2, 1)]);
  });
});
