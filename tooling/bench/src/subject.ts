import type { BenchServer } from "./server/bench-server.ts";
import type { Line } from "./figures/line.ts";
import type { Plan } from "./plan.ts";

/** The server, the plan and the callbacks that a subject needs for its measurements. */
export interface Bench {
  readonly plan: Plan;
  /** A PostgreSQL for this subject alone. */
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
  /** The file of --pgledger; undefined without it. */
  readonly pgledger: string | undefined;
  /** With --resume: the partial report of the interrupted run. Otherwise undefined. */
  readonly begun: unknown;
  /** Stores the partial report of a long measurement for --resume. */
  readonly keep: (begun: unknown) => void;
}

/**
 * A part of the benchmark that compares the service with something else. Often this is a limit or a rival. A limit is
 * the fastest possible program for the same work, such as one bare SQL statement. A rival is the usual solution, such
 * as a plain handler. `Report` is plain data for `--json`.
 */
export interface Subject<Report = unknown> {
  readonly name: string;
  /** For `--help`: what is measured, and how long that takes on an idle machine. */
  readonly about: string;
  /** True if the subject takes an hour and much disk space. It then runs only if it is named. */
  readonly isLong?: boolean;
  measure(bench: Bench): Promise<Report>;
  /** The full tables of the report. */
  text(plan: Plan, report: Report): string;
  /** The lines for the table of all subjects. */
  lines(plan: Plan, report: Report): Line[];
}

/**
 * Returns a subject with its report's own type as a `Subject` of any report, so that one list can contain all subjects.
 */
export function subject<Report>(given: Subject<Report>): Subject {
  return given;
}
