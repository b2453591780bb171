import { publicId } from "@collections/database";
import type { DeliverySummary } from "@collections/webhooks";

/** Returns the JSON fields of a delivery, for `delivery list`, `delivery show` and the console. */
export function shownDelivery(summary: DeliverySummary, lenderCode: string | undefined) {
  const { eventId, kind, stream: loan, sequence, state, attempts, nextAttemptAt, lastError, replay } = summary;
  return {
    eventId: publicId("evt", eventId),
    lenderCode,
    kind,
    sourceLoanNumber: loan,
    sequence: Number(sequence),
    state,
    attempts,
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    lastError,
    replay,
    createdAt: summary.createdAt.toISOString(),
    settledAt: summary.settledAt?.toISOString() ?? null,
  };
}
