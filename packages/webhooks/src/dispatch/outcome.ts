import assert from "node:assert/strict";
import type { AttemptResult } from "../endpoint/attempt.ts";
import type { StoredState } from "../storage/delivery.ts";
import { type Ladder, nextAttempt } from "./ladder.ts";
import type { LeasedDelivery } from "./lease.ts";
import { retryAfterMs } from "./retry-after.ts";

/** An attempt that was made, and what follows from it for its delivery. */
export interface Outcome {
  readonly delivery: LeasedDelivery;
  readonly result: AttemptResult;
  readonly state: Exclude<StoredState, "waiting">;
  /** Set when `state` is "retrying". */
  readonly nextAttemptAt: Date | null;
}

/** Decides what follows from an attempt: delivered, tried again later, or parked. contract: Retry and suspension */
export function outcomeOf(
  delivery: LeasedDelivery,
  result: AttemptResult,
  ladder: Ladder,
  random: () => number,
): Outcome {
  assert.notEqual(result.outcome, "abandoned", "An abandoned attempt is given back, not recorded.");
  if (result.outcome === "delivered") return { delivery, result, state: "delivered", nextAttemptAt: null };
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
