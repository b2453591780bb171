import type { Counts } from "./traffic/model.ts";
import type { Flatness, Sample } from "./flatness.ts";
import type { Violation } from "./invariants.ts";

/** One leg of a fault's schedule: so many strikes at a service that was set up for it. */
export interface Leg {
  readonly seed: number;
  readonly rounds: number;
  /** The short form: few strikes, and lost calls are given up sooner. */
  readonly isQuick: boolean;
  readonly onProgress: (message: string) => void;
}

/** What came of a leg. */
export interface Outcome {
  readonly counts: Counts;
  readonly sent: number;
  readonly acknowledged: number;
  readonly booked: number;
  readonly violations: readonly Violation[];
  /** Of a load that had to stay flat. */
  readonly soak?: Soak;
}

/** A load at half of what the machine bears, and what became of the processes under it. */
export interface Soak {
  readonly capacityPerS: number;
  readonly pacePerS: number;
  readonly flatness: readonly Flatness[];
  readonly samples: readonly Sample[];
}

/** Something that breaks. */
export interface Fault {
  readonly name: string;
  readonly sentence: string;
  /** Strikes of the short form, and of one leg of the long one with the number of its legs. */
  readonly rounds: { readonly quick: number; readonly long: number; readonly legs: number };
  /** Measures what others would disturb: it is played once they have ended. */
  readonly isAlone?: true;
  /** Needs more than this checkout brings: it is played only when it is asked for by its name. */
  readonly isByNameOnly?: true;
  /** Why this machine cannot play it, with what to do about that. */
  readonly whyNot?: () => string | undefined;
  run(leg: Leg): Promise<Outcome>;
}
