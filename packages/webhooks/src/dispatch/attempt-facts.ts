import type { AttemptErrorCode } from "../endpoint/attempt.ts";
import { type StreamNames, streamNames } from "../endpoint/old-names.ts";
import type { Recipient } from "../endpoint/recipient.ts";
import type { Outcome } from "./outcome.ts";

/** Facts about an attempt that has ended, for its line in the log and for the metrics. */
export interface AttemptFacts extends Recipient, StreamNames {
  readonly eventId: string;
  readonly kind: string;
  readonly sequence: bigint;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** The delivery's state after the attempt. */
  readonly state: "retrying" | "delivered" | "parked";
  readonly status: number | null;
  readonly errorCode: AttemptErrorCode | null;
  readonly ownFault: boolean;
  readonly replay: boolean;
  readonly durationMs: number;
  /** The time from the creation of the event to the start of the attempt. */
  readonly ageMs: number;
}

export function attemptFacts(recipient: Recipient, { delivery, result, state }: Outcome): AttemptFacts {
  return {
    ...recipient,
    eventId: delivery.deliveryId,
    kind: delivery.kind,
    ...streamNames(delivery.loan),
    sequence: delivery.sequence,
    attempt: delivery.attempts + 1,
    state,
    status: result.answer?.status ?? null,
    errorCode: result.error?.code ?? null,
    ownFault: result.ownFault,
    replay: delivery.replay,
    durationMs: result.durationMs,
    ageMs: result.startedAt.getTime() - delivery.createdAt.getTime(),
  };
}
