import assert from "node:assert/strict";
import type { AttemptResult } from "../endpoint/attempt.ts";
import type { StoredState } from "../storage/delivery.ts";
import { type Ladder, nextAttempt } from "./ladder.ts";
import type { LeasedDelivery } from "./lease.ts";
import { retryAfterMs } from "./retry-after.ts";

/** An attempt that was made, and the new state of its delivery. */
export interface Outcome {
  readonly delivery: LeasedDelivery;
  readonly result: AttemptResult;
  readonly state: Exclude<StoredState, "waiting">;
  /** The time of the next attempt. Null unless `state` is "retrying". */
  readonly nextAttemptAt: Date | null;
}

/**
 * Decides the state of a delivery after an attempt: delivered, retrying or parked. An attempt at an address that is blocked is
 * the last one if it is at least the `blockedAttempts`th. contract: Retry and suspension
 */
export function outcomeOf(
  delivery: LeasedDelivery,
  result: AttemptResult,
  ladder: Ladder,
  random: () => number,
  blockedAttempts: number = ladder.length,
): Outcome {
  assert.notEqual(result.outcome, "abandoned", "An abandoned attempt must be given back, not recorded.");
  if (result.outcome === "delivered") return { delivery, result, state: "delivered", nextAttemptAt: null };
  if (result.error?.code === "BLOCKED_ADDRESS" && delivery.attempts + 1 >= blockedAttempts) {
    return { delivery, result, state: "parked", nextAttemptAt: null };
  }
  const failedAt = new Date(result.startedAt.getTime() + result.durationMs);
  const next = nextAttempt(
    ladder,
    {
      attempts: delivery.attempts + 1,
      failedAt,
      retryAfterMs: retryAfterMs(result.answer?.headers["retry-after"], failedAt),
    },
    random,
  );
  if (next === "park") return { delivery, result, state: "parked", nextAttemptAt: null };
  return { delivery, result, state: "retrying", nextAttemptAt: next };
}

/** Whether the outcome is a failure that counts against the endpoint. */
export function isCharged({ state, result }: Outcome): boolean {
  return state !== "delivered" && !result.ownFault;
}
