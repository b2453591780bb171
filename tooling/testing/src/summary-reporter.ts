import type { Reporter, SerializedError, TestModule, TestRunEndReason, TestSuite, Vitest } from "vitest/node";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Ends a run with the line `N passed, N failed`, plus `, N skipped` when tests were, for machines to read. */
export class SummaryReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[], reason: TestRunEndReason): void {
    const counts = count(modules);
    counts.failed += unhandled.length;
    // A run that failed for a reason of its own, such as a coverage threshold, never reads as a clean one.
    if (reason !== "passed" && counts.failed === 0) counts.failed = 1;
    this.#vitest?.logger.log(summaryLine(counts));
  }
}

function summaryLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** Counts tests, and as failed also each file, suite or hook that broke outside a test. */
function count(modules: readonly TestModule[]): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const module of modules) {
    const groups: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
    counts.failed += groups.reduce((sum, group) => sum + group.errors().length, 0);
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // Pending is a test that a crash or an interruption kept from ending.
      counts[state === "pending" ? "failed" : state] += 1;
    }
  }
  return counts;
}
