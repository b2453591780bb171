import type { RunDetails } from "./run-on.ts";
import type { TestLender } from "./test-lender.ts";

/** A lender with one fault. */
export interface Broken {
  readonly fault: string;
  readonly lender: TestLender;
  /** The check that is meant for the fault. */
  readonly caughtBy: string;
  /** The others that fail with it, since they see the same fault. */
  readonly and?: readonly string[];
  readonly run?: RunDetails;
}

/** The checks that see a receiver that believes what is not signed. */
export const ABOUT_SIGNATURES = [
  "wrong-signature",
  "malformed-signature",
  "missing-headers",
  "tampered-body",
  "exact-bytes",
];
export const ABOUT_TIME = ["changed-timestamp", "stale-timestamp", "future-timestamp"];
