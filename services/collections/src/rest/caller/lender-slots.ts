import { Problem } from "../../http/problem.ts";

/** Limits how many costly requests run at a time in this process: one of each lender, and a few of all lenders. */
export interface LenderSlots {
  /**
   * Takes a slot at once, or refuses. The caller must call the returned function at the end, even after an error.
   * @throws Problem RATE_LIMITED if a request of this lender runs, SERVICE_UNAVAILABLE if too many other requests run
   */
  enter(lenderId: string): () => void;
}

/** Creates slots for `most` lenders. `what` names the requests in the refusals. */
export function createLenderSlots(most: number, what: string): LenderSlots {
  const running = new Set<string>();
  return {
    enter(lenderId) {
      if (running.has(lenderId)) {
        throw new Problem(
          "RATE_LIMITED",
          `Another ${what} of this lender is running. Send this one when it has ended.`,
        );
      }
      if (running.size >= most) {
        throw new Problem(
          "SERVICE_UNAVAILABLE",
          `Other lenders use all places for a ${what}. Send it again in a moment.`,
        );
      }
      running.add(lenderId);
      return () => void running.delete(lenderId);
    },
  };
}
