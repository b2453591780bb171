import type { Reporter, SerializedError, TestModule, TestRunEndReason, TestSuite, Vitest } from "vitest/node";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** The number of tests that each tag left out. */
  leftOut: Map<string, number>;
}

/**
 * Ends a run with the machine-readable line `N passed, N failed`, plus `, N skipped` and `, N left out` if there are
 * any. Before it, lists each tag of `leftOut` (a reason by tag) with the number of its tests that did not run.
 */
export class SummaryReporter implements Reporter {
  #vitest: Vitest | undefined;
  readonly #leftOut: Readonly<Record<string, string>>;

  constructor(leftOut: Readonly<Record<string, string>> = {}) {
    this.#leftOut = leftOut;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[], reason: TestRunEndReason): void {
    const counts = count(modules, this.#leftOut);
    counts.failed += unhandled.length;
    // Report at least one failure if the run failed for another reason than a test, such as a coverage threshold.
    if (reason !== "passed" && counts.failed === 0) counts.failed = 1;
    for (const [tag, tests] of counts.leftOut) {
      this.#vitest?.logger.log(`left out: ${tests} tagged "${tag}" (${this.#leftOut[tag]})`);
    }
    this.#vitest?.logger.log(summaryLine(counts));
  }
}

function summaryLine({ passed, failed, skipped, leftOut }: Counts): string {
  const leftOutCount = [...leftOut.values()].reduce((sum, tests) => sum + tests, 0);
  const skippedWords = skipped > 0 ? `, ${skipped} skipped` : "";
  return `${passed} passed, ${failed} failed${skippedWords}${leftOutCount > 0 ? `, ${leftOutCount} left out` : ""}`;
}

/** Counts tests. Errors of files, suites and hooks outside of tests count as failed. */
function count(modules: readonly TestModule[], reasons: Readonly<Record<string, string>>): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0, leftOut: new Map() };
  for (const module of modules) {
    const groups: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
    counts.failed += groups.reduce((sum, group) => sum + group.errors().length, 0);
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      const tag = state === "skipped" ? test.tags.find((name) => Object.hasOwn(reasons, name)) : undefined;
      if (tag !== undefined) {
        counts.leftOut.set(tag, (counts.leftOut.get(tag) ?? 0) + 1);
        continue;
      }
      // A test stays pending if a crash or an interruption prevented its end.
      counts[state === "pending" ? "failed" : state] += 1;
    }
  }
  return counts;
}
