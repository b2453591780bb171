import type { Settings } from "../stand-in/settings.ts";
import type { StandIn } from "../stand-in/stand-in.ts";

/** A deviation from the contract. A warning is a deviation that causes no harm by itself. */
export interface Finding {
  readonly level: "FAIL" | "WARN";
  /** What is wrong, in a sentence. */
  readonly problem: string;
  /** How to fix it, in a sentence. */
  readonly mend: string;
}

/** Tests one promise of the contract on an endpoint. */
export interface Check {
  /** `receiver.…`, `mint.…` or `reconcile.…`. */
  readonly name: string;
  /** The promise, in a sentence without a full stop. */
  readonly title: string;
  /** Why it matters, in a sentence or two. */
  readonly why: string;
  /** Returns which missing setting the check needs, or null. */
  readonly skip?: (settings: Settings) => string | null;
  /** Runs the check. No finding means that it passed. */
  readonly run: (service: StandIn) => Promise<Finding[]>;
  /** For a check that sends nothing itself: the requests and answers that it looked at. */
  readonly lookedAt?: (service: StandIn) => { readonly sent: string; readonly cameBack: string };
}

/** The result of a check. `WARN`: it found only deviations that cause no harm by themselves. */
export type Verdict = "PASS" | "FAIL" | "WARN" | "SKIPPED";

/** The full result of a check. `sent` and `cameBack` are empty if nothing was sent. */
export interface CheckResult {
  readonly name: string;
  readonly title: string;
  readonly why: string;
  readonly verdict: Verdict;
  readonly sent: string;
  readonly cameBack: string;
  readonly findings: readonly Finding[];
  /** The reason if the check was skipped, else null. */
  readonly skipped: string | null;
  readonly durationMs: number;
}

export function fail(problem: string, mend: string): Finding {
  return { level: "FAIL", problem, mend };
}

export function warn(problem: string, mend: string): Finding {
  return { level: "WARN", problem, mend };
}
