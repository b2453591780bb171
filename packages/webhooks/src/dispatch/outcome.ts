import assert from "node:assert/strict";
import type { AttemptResult } from "../endpoint/attempt.ts";
import type { StoredState } from "../storage/delivery.ts";
import { type Ladder, waitAfter } from "./ladder.ts";
import type { LeasedDelivery } from "./lease.ts";
import { retryAfterMs } from "./retry-after.ts";

/** An attempt that was made, and the new state of its delivery. */
export interface Outcome {
  readonly delivery: LeasedDelivery;
  readonly result: AttemptResult;
  readonly state: Exclude<StoredState, "waiting">;
  /** The wait before the next attempt, in milliseconds. Null unless `state` is "retrying". */
  readonly waitMs: number | null;
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
  if (result.outcome === "delivered") return { delivery, result, state: "delivered", waitMs: null };
  if (result.error?.code === "BLOCKED_ADDRESS" && delivery.attempts + 1 >= blockedAttempts) {
    return { delivery, result, state: "parked", waitMs: null };
  }
  const failedAt = new Date(result.startedAt.getTime() + result.durationMs);
  const failed = {
    attempts: delivery.attempts + 1,
    retryAfterMs: retryAfterMs(result.answer?.headers, failedAt),
  };
  const waitMs = waitAfter(ladder, failed, random);
  if (waitMs === "park") return { delivery, result, state: "parked", waitMs: null };
  return { delivery, result, state: "retrying", waitMs };
}

/** Whether the outcome is a failure that counts against the endpoint. */
export function isCharged({ state, result }: Outcome): boolean {
  return state !== "delivered" && !result.ownFault;
}
