import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "@collections/database";

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;

/**
 * Repeats work while the database is away, for `forMs` at most: then, or for any other fault, its error is thrown. The
 * work is done again also when nobody knows whether its commit happened, so it has to be idempotent.
 */
export async function untilAvailable<Result>(forMs: number, work: () => Promise<Result>): Promise<Result> {
  const giveUpAt = performance.now() + forMs;
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || performance.now() + delayMs > giveUpAt) throw error;
    }
    await sleep(delayMs);
  }
}
