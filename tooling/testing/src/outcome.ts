import { type Counts, sumOf } from "./counts.ts";
import type { Failure, FileResult, RunResult } from "./run-result.ts";

/** More unsteady files fail the run. */
export const UNSTEADY_LIMIT = 3;
/** If more files failed, no file runs again: the run has failed in any case. */
const SECOND_RUN_LIMIT = 10;

/** The result of all tests, after the second run of the files that failed. */
export interface Outcome {
  passed: boolean;
  counts: Counts;
  /** The files that failed twice, or failed once and were not run again. */
  failed: FileResult[];
  /** The files that failed and then passed, with their first result. */
  unsteady: FileResult[];
  /** Errors that belong to no test file. */
  errors: Failure[];
  files: FileResult[];
}

/** Pure. Returns the files to run again. */
export function filesToRepeat(first: RunResult): string[] {
  const failed = first.files.filter(hasFailed);
  return first.isInterrupted || failed.length > SECOND_RUN_LIMIT ? [] : failed.map(({ file }) => file);
}

/** Pure. `second` has the result of the second run of each file that ran again and passed. */
export function outcomeOf(first: RunResult, second: ReadonlyMap<string, FileResult>): Outcome {
  const failures = first.files.filter(hasFailed);
  const unsteady = failures.filter(({ file }) => second.has(file));
  const failed = failures.filter(({ file }) => !second.has(file));
  const isForgiven = unsteady.length <= UNSTEADY_LIMIT;
  const counts = sumOf(first.files.map((result) => (isForgiven && second.get(result.file)?.counts) || result.counts));
  counts.failed += first.errors.length;
  const passed = isForgiven && failed.length === 0 && first.errors.length === 0 && !first.isInterrupted;
  if (!passed && counts.failed === 0) counts.failed = 1;
  return { passed, counts, failed, unsteady, errors: first.errors, files: first.files };
}

/** Pure. */
export function hasFailed({ counts, failures }: FileResult): boolean {
  return counts.failed > 0 || failures.length > 0;
}
