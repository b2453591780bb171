import type { Counts } from "./traffic/model.ts";
import type { Flatness, Sample } from "./flatness.ts";
import type { Violation } from "./invariants.ts";

/** One leg of a fault's schedule: a number of strikes against one service. */
export interface Leg {
  readonly seed: number;
  readonly rounds: number;
  /** The short form: few strikes, and calls of dead processes count as lost sooner. */
  readonly isQuick: boolean;
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

/** A load of half the machine's capacity, and the resources of the processes under it. */
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
  /** Strikes in a quick run; strikes per leg and number of legs in a long run. */
  readonly rounds: { readonly quick: number; readonly long: number; readonly legs: number };
  /** Its measurements would be disturbed by other faults, so it runs after them. */
  readonly isAlone?: true;
  /** It needs something that this checkout does not contain, so it runs only if named. */
  readonly isByNameOnly?: true;
  /** The reason why this machine cannot run it, and what to do about that. */
  readonly unavailableReason?: () => string | undefined;
  run(leg: Leg): Promise<Outcome>;
}
