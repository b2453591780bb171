import type { Settings } from "../stand-in/settings.ts";
import type { StandIn } from "../stand-in/stand-in.ts";

/** Something that is not as the contract has it. A warning does no harm by itself. */
export interface Finding {
  readonly level: "FAIL" | "WARN";
  /** What is wrong with what came back, in a sentence. */
  readonly problem: string;
  /** What to change, in a sentence. */
  readonly mend: string;
}

/** One promise of the contract, tried on an endpoint. */
export interface Check {
  /** `receiver.…` or `mint.…`. */
  readonly name: string;
  /** The promise, in a sentence without a full stop. */
  readonly title: string;
  /** Why it matters, in a sentence or two. */
  readonly why: string;
  /** What is needed and was not given, or null. */
  readonly skip?: (settings: Settings) => string | null;
  /** Tries it; no finding is a pass. */
  readonly run: (service: StandIn) => Promise<Finding[]>;
  /** For a check that sends nothing itself: what it looked at. */
  readonly lookedAt?: (service: StandIn) => { readonly sent: string; readonly cameBack: string };
}

/** How a check ended, in a word. `WARN`: nothing but what does no harm by itself was found. */
export type Verdict = "PASS" | "FAIL" | "WARN" | "SKIPPED";

/** How a check ended. `sent` and `cameBack` are empty where nothing was sent. */
export interface CheckResult {
  readonly name: string;
  readonly title: string;
  readonly why: string;
  readonly verdict: Verdict;
  readonly sent: string;
  readonly cameBack: string;
  readonly findings: readonly Finding[];
  /** Why it was skipped, or null. */
  readonly skipped: string | null;
  readonly durationMs: number;
}

export function fail(problem: string, mend: string): Finding {
  return { level: "FAIL", problem, mend };
}

export function warn(problem: string, mend: string): Finding {
  return { level: "WARN", problem, mend };
}
