import type { Reporter, SerializedError, TestModule, TestRunEndReason, Vitest } from "vitest/node";
import { countTests, sumOf, summaryLines } from "./counts.ts";

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
    const counts = sumOf(modules.map((module) => countTests(module, this.#leftOut)));
    counts.failed += unhandled.length;
    // Report at least one failure if the run failed for another reason than a test, such as a coverage threshold.
    if (reason !== "passed" && counts.failed === 0) counts.failed = 1;
    for (const line of summaryLines(counts, this.#leftOut)) this.#vitest?.logger.log(line);
  }
}
