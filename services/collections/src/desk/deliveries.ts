import { parsePublicId, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { deliveriesOfLenders, onOneLine } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import {
  deliveryById,
  type DeliveryDetail,
  type DeliveryState,
  type DeliverySummary,
  remedyFor,
} from "@collections/webhooks";
import { eventWords } from "./words/act-words.ts";
import { deliveryErrorOf } from "./words/delivery-error.ts";

const PAGE_SIZE = 50;

/** Returns a page of the deliveries to some lenders, newest first, and the id before which the next page begins. */
export async function pageOfDeliveries(
  em: EntityManager,
  lenders: readonly Lender[],
  {
    lender: code,
    state,
    before,
  }: { lender: string | undefined; state: DeliveryState | undefined; before: string | undefined },
) {
  const wanted = code === undefined ? lenders : lenders.filter((one) => one.code === code);
  const search = {
    limit: PAGE_SIZE,
    ...(state && { states: [state] }),
    ...(before !== undefined && { cursor: before }),
  };
  const page = await deliveriesOfLenders(em, wanted, search, new Date());
  const lenderOf = new Map(wanted.map((one) => [one.id, one]));
  const [timeZone = null, ...others] = new Set(wanted.map((one) => one.timeZone));
  return {
    lenderCodes: lenders.map((one) => one.code).toSorted(),
    timeZone: others.length === 0 ? timeZone : null,
    deliveries: page.deliveries.map((one) => listedDelivery(lenderOf.get(one.tenantId)!, one)),
    next: page.nextCursor,
  };
}

/** Returns a delivery as a row of a list, with local times. */
export function listedDelivery({ code, timeZone }: Lender, delivery: DeliverySummary) {
  const { eventId, kind, stream, state, attempts, lastError, createdAt } = delivery;
  return {
    eventId: publicId("evt", eventId),
    lenderCode: code,
    kind,
    what: eventWords(kind),
    sourceLoanNumber: stream,
    state,
    attempts,
    lastError: lastError === null ? null : deliveryErrorOf(onOneLine(lastError)),
    createdAt: timeIn(timeZone, createdAt),
  };
}

/** Finds the delivery of an event among some lenders. */
export async function deliveryOf(
  em: EntityManager,
  lenders: readonly Lender[],
  given: string,
): Promise<{ lender: Lender; delivery: DeliveryDetail } | undefined> {
  const eventId = parsePublicId("evt", given);
  if (eventId === undefined) return undefined;
  for (const lender of lenders) {
    const delivery = await deliveryById(em, lender.id, eventId, new Date());
    if (delivery) return { lender, delivery };
  }
  return undefined;
}

/** Returns a delivery with its attempts, and the cause and the remedy of each failure. */
export function shownDeliveryPage({ lender, delivery }: { lender: Lender; delivery: DeliveryDetail }) {
  const { eventId, kind, stream, sequence, state, attempts, nextAttemptAt, settledAt, url, createdAt, replay } =
    delivery;
  const local = (at: Date) => timeIn(lender.timeZone, at);
  return {
    eventId: publicId("evt", eventId),
    lenderCode: lender.code,
    kind,
    what: eventWords(kind),
    sourceLoanNumber: stream,
    state,
    timeZone: lender.timeZone,
    isReplayable: state === "delivered" || state === "parked" || state === "retrying",
    facts: [
      ["created", local(createdAt)],
      ["sequence", String(sequence)],
      ["attempts", `${attempts}${replay ? ", sent again" : ""}`],
      ["callback", url ?? "none is registered"],
      ...(nextAttemptAt === null ? [] : [["next attempt", local(nextAttemptAt)]]),
      ...(settledAt === null ? [] : [["settled", local(settledAt)]]),
    ] as [name: string, value: string][],
    attempts: delivery.log
      .toReversed()
      .map((attempt) => ({ at: local(attempt.startedAt), ...attemptWords(attempt, url) })),
  };
}

function attemptWords(attempt: DeliveryDetail["log"][number], url: string | null) {
  const { errorCode, errorDetail, status, headers, durationMs, outcome } = attempt;
  const answered = status === null ? onOneLine(errorDetail ?? outcome) : `answered ${status}`;
  const words = errorCode === null ? undefined : remedyFor({ errorCode, errorDetail, status, headers, url });
  return {
    outcome: `${answered} after ${durationMs} ms`,
    cause: words ? onOneLine(words.cause) : "",
    remedy: words ? onOneLine(words.remedy) : "",
  };
}
