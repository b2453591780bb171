import type { Counts } from "./traffic/model.ts";
import type { Flatness, Sample } from "./flatness.ts";
import type { Violation } from "./invariants.ts";

/**
 * One part of a run, with a service and a PostgreSQL of its own. In it the fault is caused a number of times
 * (`rounds`).
 */
export interface Leg {
  readonly seed: number;
  readonly rounds: number;
  /**
   * True for a run with --quick. It causes the fault less often, and the unfinished calls of dead processes count as
   * lost sooner.
   */
  readonly isQuick: boolean;
  /** Whether the service reaches PostgreSQL through a pgbouncer. */
  readonly usesPooler: boolean;
  readonly onProgress: (message: string) => void;
}

/** The result of a leg. */
export interface Outcome {
  readonly counts: Counts;
  readonly sent: number;
  readonly acknowledged: number;
  readonly booked: number;
  readonly violations: readonly Violation[];
  /** The measurements under a constant load, during which no resource may grow. */
  readonly soak?: Soak;
}

/** The measurements of a run at half the machine's capacity: the rates, and the resources of the processes. */
export interface Soak {
  readonly capacityPerS: number;
  readonly pacePerS: number;
  readonly flatness: readonly Flatness[];
  readonly samples: readonly Sample[];
}

/** A kind of failure that can be caused on purpose. */
export interface Fault {
  readonly name: string;
  readonly sentence: string;
  /**
   * How often the fault is caused: in a quick run (`quick`), and in each part of a long run (`long`). `legs` is the
   * number of parts of a long run.
   */
  readonly rounds: { readonly quick: number; readonly long: number; readonly legs: number };
  /** True if other faults would disturb the measurements of this fault. It then runs alone, after the others. */
  readonly isAlone?: true;
  /**
   * True if the fault needs something that `pnpm install` does not install, such as Citus. It then runs only if the
   * command line names it.
   */
  readonly isByNameOnly?: true;
  /** Whether the fault runs only with a pooler, or only without. By default it can run both ways. */
  readonly pooler?: "needed" | "impossible";
  /** Returns why this machine cannot run the fault, and what to do about that; undefined if it can. */
  readonly unavailableReason?: () => string | undefined;
  run(leg: Leg): Promise<Outcome>;
}
