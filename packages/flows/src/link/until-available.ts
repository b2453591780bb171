import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "@collections/database";

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;

/**
 * Retries `work` while the database is unavailable, for at most `forMs`. After that, and for any other error, it throws
 * the error of `work`. It also retries when the outcome of a commit is unknown, so `work` must be idempotent.
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
