import type { TestModule, TestSuite } from "vitest/node";

/** The numbers of tests by result. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** The number of tests that each tag left out. */
  leftOut: Record<string, number>;
}

/** Counts the tests of a file. Errors of the file, suites and hooks outside of tests count as failed. */
export function countTests(module: TestModule, reasons: Readonly<Record<string, string>>): Counts {
  const groups: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
  const failed = groups.reduce((sum, group) => sum + group.errors().length, 0);
  const counts: Counts = { passed: 0, failed, skipped: 0, leftOut: {} };
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    const tag = state === "skipped" ? test.tags.find((name) => Object.hasOwn(reasons, name)) : undefined;
    if (tag !== undefined) counts.leftOut[tag] = (counts.leftOut[tag] ?? 0) + 1;
    // A test stays pending if a crash or an interruption prevented its end.
    else counts[state === "pending" ? "failed" : state] += 1;
  }
  return counts;
}

/** Pure. */
export function sumOf(all: readonly Counts[]): Counts {
  const sum: Counts = { passed: 0, failed: 0, skipped: 0, leftOut: {} };
  for (const { passed, failed, skipped, leftOut } of all) {
    sum.passed += passed;
    sum.failed += failed;
    sum.skipped += skipped;
    for (const [tag, tests] of Object.entries(leftOut)) sum.leftOut[tag] = (sum.leftOut[tag] ?? 0) + tests;
  }
  return sum;
}

/**
 * Pure. Returns the end of a run's output: a line for each tag that left out tests, with the reason from `reasons`, and
 * then the machine-readable line `N passed, N failed`, plus `, N skipped` and `, N left out` if there are any.
 */
export function summaryLines(counts: Counts, reasons: Readonly<Record<string, string>>): string[] {
  const { passed, failed, skipped } = counts;
  const leftOut = Object.entries(counts.leftOut);
  const leftOutCount = leftOut.reduce((sum, [, tests]) => sum + tests, 0);
  return [
    ...leftOut.map(([tag, tests]) => `left out: ${tests} tagged "${tag}" (${reasons[tag]})`),
    `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}${leftOutCount > 0 ? `, ${leftOutCount} left out` : ""}`,
  ];
}
