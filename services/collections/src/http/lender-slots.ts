import { Problem } from "./problem.ts";

/** Limits how many costly requests run at a time in this process: one of each lender, and a few of all lenders. */
export interface LenderSlots<Result> {
  /**
   * Runs `work` in a slot, or refuses at once. A repeat of the running request shares its result.
   * @throws Problem RATE_LIMITED if another request of this lender runs, SERVICE_UNAVAILABLE if too many others run
   */
  run(request: { readonly lenderId: string; readonly requestId: string }, work: () => Promise<Result>): Promise<Result>;
}

interface Running<Result> {
  readonly requestId: string;
  readonly result: Promise<Result>;
  repeats: number;
}

/** How many repeats may share a result. Each one keeps its body in memory until it is answered. */
const MAX_REPEATS = 3;

/** Creates slots for `most` lenders. `what` names the requests in the refusals. */
export function createLenderSlots<Result>(most: number, what: string): LenderSlots<Result> {
  const running = new Map<string, Running<Result>>();
  return {
    run({ lenderId, requestId }, work) {
      const own = running.get(lenderId);
      if (own?.requestId === requestId && own.repeats < MAX_REPEATS) {
        own.repeats += 1;
        return own.result;
      }
      if (own) {
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
      const result = work().finally(() => running.delete(lenderId));
      running.set(lenderId, { requestId, result, repeats: 0 });
      return result;
    },
  };
}
