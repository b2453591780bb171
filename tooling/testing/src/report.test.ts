import { describe, expect, test } from "vitest";
import { outcomeOf } from "./outcome.ts";
import { commandOf, type Machine, renderReport } from "./report.ts";
import type { Failure, FileResult } from "./run-result.ts";

const MACHINE: Machine = {
  loadAverage: [8.37, 4.56, 1.93],
  processors: 2,
  freeMemoryBytes: 1.24e9,
  totalMemoryBytes: 4e9,
};

function failedFile(file: string, failures: Failure[]): FileResult {
  return { file, counts: { passed: 0, failed: failures.length, skipped: 0, leftOut: {} }, failures, durationMs: 500 };
}

function reportOf(files: FileResult[], errors: Failure[] = []): string[] {
  return renderReport(outcomeOf({ isInterrupted: false, files, errors }, new Map()), MACHINE);
}

function longError(lines: number): string {
  return Array.from({ length: lines }, (_, index) => `line ${index}`).join("\n");
}

describe("renderReport", () => {
  test("shows 14 lines of an error if few tests failed", () => {
    const report = reportOf([
      failedFile("a.test.ts", [{ test: "adds", error: longError(90), place: "a.test.ts:3:1" }]),
    ]);
    expect(report.slice(0, 4)).toEqual(["==== Report of all tests", "", "Failed test files: 1.", "  a.test.ts > adds"]);
    expect(report.slice(17, 21)).toEqual([
      "    line 13",
      "    …",
      "    at a.test.ts:3:1",
      '    npx -y pnpm@12 test a.test.ts -t "adds"',
    ]);
    expect(report.slice(21)).toEqual([
      "",
      "Load average: 8.4, 4.6, 1.9 on 2 processors; free memory: 1.2 of 4.0 GB.",
      "The slowest test files:",
      "     0.5 s  a.test.ts",
      "",
      "0 passed, 1 failed",
    ]);
  });

  test.each([1, 5, 12, 30])("names each of %i failed tests within the limit of lines", (tests) => {
    const failures = Array.from({ length: tests }, (_, index) => ({
      test: `test ${index}`,
      error: longError(90),
      place: "a.test.ts:3:1",
    }));
    const report = reportOf([failedFile("a.test.ts", failures)]);
    expect(report.length).toBeLessThanOrEqual(140);
    for (const { test } of failures) expect(report).toContain(`  a.test.ts > ${test}`);
    expect(report.filter((line) => line === "    line 0")).toHaveLength(tests);
  });

  test("counts the failures that do not fit into the limit of lines", () => {
    const files = Array.from({ length: 300 }, (_, index) =>
      failedFile(`${index}.test.ts`, [{ test: "adds", error: "no" }]),
    );
    const report = reportOf(files, [{ origin: "vitest ended with exit code 1", error: "no memory" }]);
    expect(report.length).toBeLessThanOrEqual(140);
    const named = report.filter((line) => line.includes(".test.ts > adds")).length;
    expect(named).toBeGreaterThan(35);
    expect(report).toContain(`… and ${300 - named} more failures, which are above in the output.`);
    expect(report.at(-1)).toBe("0 passed, 301 failed");
  });

  test("cuts each line to 240 characters", () => {
    const report = reportOf([failedFile("a.test.ts", [{ test: "t".repeat(500), error: "e".repeat(100_000) }])]);
    expect(Math.max(...report.map((line) => line.length))).toBe(240);
  });

  test("lists the ten slowest files, the slowest first", () => {
    const files = Array.from({ length: 12 }, (_, index) => ({
      ...failedFile(`${index}.test.ts`, []),
      durationMs: index * 1000,
    }));
    const report = reportOf(files);
    const title = report.indexOf("The slowest test files:");
    expect(report[title + 1]).toBe("    11.0 s  11.test.ts");
    expect(report[title + 10]).toBe("     2.0 s  2.test.ts");
    expect(report[title + 11]).toBe("");
  });
});

describe("commandOf", () => {
  test.each([
    ["adds 1 + 1 (EUR)", "adds 1 . 1 .EUR."],
    ['answers "no" to $HOME, `id` and \\', "answers .no. to .HOME, .id. and ."],
    ["accepts हिन्दी, é and 😀", "accepts हिन्दी, é and .."],
    ["a group > rejects it!", "a group > rejects it."],
  ])("turns the name %s into a pattern that a shell keeps", (name, pattern) => {
    expect(commandOf("a.test.ts", name)).toBe(`npx -y pnpm@12 test a.test.ts -t "${pattern}"`);
    expect(name).toMatch(new RegExp(`^${pattern}$`));
  });

  test("repeats the whole file for an error outside of tests", () => {
    expect(commandOf("a.test.ts")).toBe("npx -y pnpm@12 test a.test.ts");
  });
});
