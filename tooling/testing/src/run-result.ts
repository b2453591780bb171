import type { Counts } from "./counts.ts";

/** The result of one run of vitest. */
export interface RunResult {
  isInterrupted: boolean;
  files: FileResult[];
  /** Errors that belong to no test file. */
  errors: Failure[];
}

export interface FileResult {
  /** The path, relative to the root. */
  file: string;
  counts: Counts;
  failures: Failure[];
  durationMs: number;
}

export interface Failure {
  /** The full name of the test; undefined if the error occurred outside of tests. */
  test?: string;
  /** The place of an error outside of tests, such as "hook of a suite". */
  origin?: string | undefined;
  error: string;
  /** Path, line and column. */
  place?: string | undefined;
}
