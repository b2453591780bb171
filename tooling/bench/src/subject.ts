import type { BenchServer } from "./server/bench-server.ts";
import type { Line } from "./figures/line.ts";
import type { Plan } from "./plan.ts";

/** What a subject is measured with. */
export interface Bench {
  readonly plan: Plan;
  /** A PostgreSQL of this subject's own; nobody else has filled it. */
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
  /** What an interrupted run had of this subject, where it is to be resumed. */
  readonly begun: unknown;
  /** Keeps what there is so far of a report that takes long. */
  readonly keep: (begun: unknown) => void;
}

/** Something that is measured beside something else. `Report` is what `--json` prints: plain data. */
export interface Subject<Report = unknown> {
  readonly name: string;
  /** For `--help`: what, and how long at length on a machine that has nothing else to do. */
  readonly about: string;
  /** Takes an hour and a disk: not played unless it is named. */
  readonly isLong?: boolean;
  measure(bench: Bench): Promise<Report>;
  /** Tables with everything, for who looks closer. */
  text(plan: Plan, report: Report): string;
  /** What the table of all subjects shows of it. */
  lines(plan: Plan, report: Report): Line[];
}

/** Keeps each subject's own type of report to itself. */
export function subject<Report>(given: Subject<Report>): Subject {
  return given;
}
