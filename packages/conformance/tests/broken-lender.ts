import type { RunDetails } from "./run-on.ts";
import type { TestLender } from "./test-lender.ts";

/** A lender with one fault. */
export interface Broken {
  readonly fault: string;
  readonly lender: TestLender;
  /** The check that must catch the fault. */
  readonly caughtBy: string;
  /** Other checks that fail because of the same fault. */
  readonly and?: readonly string[];
  readonly run?: RunDetails;
}

/** The checks that fail for a receiver that accepts unsigned requests. */
export const ABOUT_SIGNATURES = [
  "wrong-signature",
  "malformed-signature",
  "missing-headers",
  "tampered-body",
  "exact-bytes",
];
export const ABOUT_TIME = ["changed-timestamp", "stale-timestamp", "future-timestamp"];
