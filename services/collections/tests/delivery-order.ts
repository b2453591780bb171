import type { ReceivedDelivery } from "@collections/lender-twin";
import type { PublishedEvent } from "./webhook-rows.ts";

/**
 * What breaks the order of first attempts: of one loan they come in sequence (contract: Delivery). An attempt that is
 * made again because its process died counts where it came first.
 */
export function firstAttemptsOutOfOrder(deliveries: readonly ReceivedDelivery[]): string[] {
  const latest = new Map<string, number>();
  const seen = new Set<string>();
  return deliveries.flatMap((delivery) => {
    const { eventId, sourceLoanNumber: loan, sequence, attempt } = delivery;
    if (loan === null || sequence === null || attempt !== 1 || isReplay(delivery) || seen.has(eventId)) return [];
    seen.add(eventId);
    const before = latest.get(loan) ?? 0;
    latest.set(loan, Math.max(before, sequence));
    return sequence > before ? [] : [`${loan}: the first attempt of ${sequence} came after that of ${before}`];
  });
}

/**
 * What breaks the order of a drain (contract: Retry and suspension): an attempt of a loan although an earlier event
 * from before the recovery, `drainTo` or older, had neither been accepted nor parked by then.
 * @param deliveries all that came
 * @param drained how many of them had come when the endpoint recovered
 */
export function overtakenInDrain(
  deliveries: readonly ReceivedDelivery[],
  drained: number,
  published: readonly PublishedEvent[],
  drainTo: string,
): string[] {
  const backlog = Map.groupBy(
    published.filter(({ eventId }) => eventId <= drainTo),
    ({ loan }) => loan,
  );
  const lastOf = Map.groupBy(deliveries.keys(), (index) => deliveries[index]!.eventId);
  const acceptedAt = new Map<string, number>();
  for (const [index, { eventId, outcome }] of deliveries.entries()) {
    if (outcome !== "refused" && !acceptedAt.has(eventId)) acceptedAt.set(eventId, index);
  }
  /** A parked one is done with after its last attempt. */
  const doneAt = ({ eventId, state }: PublishedEvent): number =>
    acceptedAt.get(eventId) ?? (state === "parked" ? lastOf.get(eventId)?.at(-1) : undefined) ?? Infinity;
  return deliveries.slice(drained).flatMap(({ sourceLoanNumber: loan, sequence, eventId }, index) => {
    if (loan === null || sequence === null) return [];
    const overtaken = (backlog.get(loan) ?? []).filter(
      (earlier) => earlier.sequence < sequence && doneAt(earlier) > drained + index,
    );
    return overtaken.map((earlier) => `${loan}: ${eventId} with ${sequence} came before ${earlier.sequence} was done`);
  });
}

function isReplay({ headers }: ReceivedDelivery): boolean {
  return headers["x-service-replay"] === "true";
}
