import type { AlertCause, StoredAlertFacts } from "../endpoint/alert.ts";
import type { Outcome } from "./outcome.ts";
import type { CountedEndpoint, SuspensionVerdict } from "../endpoint/suspension.ts";

const GONE = 410;

/** An endpoint after a batch of attempts is counted. Times are the database's. */
export interface EndpointAfter extends CountedEndpoint {
  readonly now: Date;
}

/**
 * Returns the alerts to raise after a batch. The causes are always in the same order, so that two batches cannot
 * deadlock.
 */
export function alertsOf(
  written: readonly Outcome[],
  endpoint: EndpointAfter | null,
  verdict: SuspensionVerdict,
): { cause: AlertCause; facts: StoredAlertFacts }[] {
  const startedAt = written[0]?.result.startedAt ?? new Date();
  const since = (endpoint?.failingSince ?? startedAt).toISOString();
  const gone = written.findLast(({ result }) => result.answer?.status === GONE);
  const parked = written.findLast(({ state }) => state === "parked");
  const failed = written.findLast(({ result, state }) => state !== "delivered" && !result.ownFault);
  return [
    ...(gone ? [{ cause: "gone" as const, facts: { since, ...factsOf(gone) } }] : []),
    ...(parked
      ? [{ cause: "parked" as const, facts: { ...factsOf(parked), since: parked.delivery.createdAt.toISOString() } }]
      : []),
    ...(verdict.verdict === "suspend"
      ? [
          {
            cause: "suspended" as const,
            facts: {
              since,
              consecutiveFailures: endpoint?.consecutiveFailures ?? 0,
              nextProbeAt: verdict.nextProbeAt.toISOString(),
              ...(failed && factsOf(failed)),
            },
          },
        ]
      : []),
  ];
}

function factsOf({ delivery, result }: Outcome) {
  return {
    eventId: delivery.deliveryId,
    kind: delivery.kind,
    loan: delivery.loan,
    sequence: Number(delivery.sequence),
    attempts: delivery.attempts + 1,
    url: delivery.url,
    status: result.answer?.status ?? null,
    body: result.answer?.body ?? null,
    location: result.answer?.headers["location"],
    ...(result.error && {
      errorCode: result.error.code,
      ...(result.error.reason && { errorReason: result.error.reason }),
      errorDetail: result.error.detail,
    }),
  };
}
