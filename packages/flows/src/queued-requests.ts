import {
  type QueuedRequest,
  queueRequest,
  type PromiseTerms,
  takeQueuedRequests,
  type VisitOfFieldPartner,
} from "@collections/cases";
import { databaseTime, type Tx } from "@collections/database";
import type { AppContext } from "./request/app-request.ts";
import { completeVisitIn, type CompleteVisitOutcome, type VisitToComplete } from "./visit/complete-visit.ts";
import {
  type PaymentLinkRequest,
  requestPaymentLinkIn,
  type RequestPaymentLinkOutcome,
} from "./link/request-payment-link.ts";

/** What became of a request that had waited for its visit, by the idempotency key that it came with. */
export type ProcessedRequest =
  | { readonly mutation: "completeVisit"; readonly key: string; readonly outcome: CompleteVisitOutcome }
  | { readonly mutation: "requestPaymentLink"; readonly key: string; readonly outcome: RequestPaymentLinkOutcome };

/** What JSON makes of a moment and of an amount. */
type Told<Fields> = {
  [Name in keyof Fields]: NonNullable<Fields[Name]> extends Date | bigint ? string : Told<Fields[Name]>;
};

/**
 * Keeps how a visit ended until its start is told: `completeVisitIn` found no such visit, under `lockVisit`. False when
 * too much waits for this field partner already. `now` is by the database's clock, and its own unless told.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * const end = { fieldPartnerId, visitId, disposition: "DOOR_LOCKED", occurredAt: now } as const;
 * const { kind } = await completeVisitIn(tx, end, { environment: "live" });
 * const isKept = kind === "not_found" && (await queueCompletion(tx, idempotencyKey, end));
 */
export function queueCompletion(tx: Tx, key: string, completion: VisitToComplete, now?: Date): Promise<boolean> {
  return hold(tx, { mutation: "completeVisit", key }, completion, now);
}

/**
 * The same for a link that was asked for: `requestPaymentLinkIn` found no such visit, under `lockVisit`.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * const wish = { fieldPartnerId, visitId, amountMinor: 250_000n, currency: currency("INR") };
 * const { kind } = await requestPaymentLinkIn(tx, wish, {});
 * const isKept = kind === "visit_not_found" && (await queueLinkRequest(tx, idempotencyKey, wish));
 */
export function queueLinkRequest(tx: Tx, key: string, wish: PaymentLinkRequest, now?: Date): Promise<boolean> {
  return hold(tx, { mutation: "requestPaymentLink", key }, wish, now);
}

/**
 * Works what has waited for a visit that has begun in this transaction, under `lockVisit`.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * await startVisitIn(tx, { fieldPartnerId, caseId, visitId, occurredAt: now }, { environment: "live" });
 * const worked = await processQueuedRequests(tx, { fieldPartnerId, visitId }, { environment: "live" });
 */
export async function processQueuedRequests(
  tx: Tx,
  visit: VisitOfFieldPartner,
  context: AppContext,
): Promise<ProcessedRequest[]> {
  const worked: ProcessedRequest[] = [];
  for (const held of await takeQueuedRequests(tx, visit, context.now ?? new Date())) {
    const { mutation, key } = held;
    worked.push(
      mutation === "completeVisit"
        ? { mutation, key, outcome: await completeVisitIn(tx, completionOf(held), context) }
        : { mutation, key, outcome: await requestPaymentLinkIn(tx, wishOf(held), context) },
    );
  }
  return worked;
}

async function hold(
  tx: Tx,
  waiting: Pick<QueuedRequest, "mutation" | "key">,
  { fieldPartnerId, visitId, ...fields }: VisitToComplete | PaymentLinkRequest,
  now?: Date,
): Promise<boolean> {
  const exact = (_name: string, value: unknown) => (typeof value === "bigint" ? value.toString() : value);
  const input: unknown = JSON.parse(JSON.stringify(fields, exact));
  const receivedAt = now ?? (await databaseTime(tx));
  return queueRequest(tx, { fieldPartnerId, visitId, ...waiting, receivedAt, input });
}

function completionOf({ fieldPartnerId, visitId, input, receivedAt }: QueuedRequest): VisitToComplete {
  const { occurredAt, promise, ...fields } = input as Told<VisitToComplete>;
  return {
    ...(fields as Pick<VisitToComplete, "disposition" | "note">),
    ...(promise && { promise: { ...promise, amountMinor: BigInt(promise.amountMinor) } as PromiseTerms }),
    fieldPartnerId,
    visitId,
    occurredAt: new Date(occurredAt),
    queuedSince: receivedAt,
  };
}

function wishOf({ fieldPartnerId, visitId, input, receivedAt }: QueuedRequest): PaymentLinkRequest {
  const { amountMinor, occurredAt, ...fields } = input as Told<PaymentLinkRequest>;
  const wish = {
    ...fields,
    ...(occurredAt !== undefined && { occurredAt: new Date(occurredAt) }),
    fieldPartnerId,
    visitId,
    amountMinor: BigInt(amountMinor),
    queuedSince: receivedAt,
  };
  return wish as PaymentLinkRequest;
}
