import {
  type QueuedRequest,
  queueRequest,
  type PromiseTerms,
  takeQueuedRequests,
  type VisitOfFieldPartner,
} from "@collections/cases";
import { databaseTime } from "@collections/database";
import type { Tx } from "@collections/entities";
import type { AppContext } from "./request/app-request.ts";
import { completeVisit, type CompleteVisitOutcome, type VisitToComplete } from "./visit/complete-visit.ts";
import {
  type PaymentLinkRequest,
  requestPaymentLink,
  type RequestPaymentLinkOutcome,
} from "./link/request-payment-link.ts";

/** A queued request that was processed, with its idempotency key and outcome. */
export type ProcessedRequest =
  | { readonly mutation: "completeVisit"; readonly key: string; readonly outcome: CompleteVisitOutcome }
  | { readonly mutation: "requestPaymentLink"; readonly key: string; readonly outcome: RequestPaymentLinkOutcome };

/** The type of a value that was written to JSON and parsed again: its dates and bigints are strings. */
type Serialized<Fields> = {
  [Name in keyof Fields]: NonNullable<Fields[Name]> extends Date | bigint ? string : Serialized<Fields[Name]>;
};

/**
 * Queues the end of a visit until the start of the visit arrives. Call it under `lockVisit`, after `completeVisit` has
 * not found the visit. Returns false if the field partner has too many queued requests. `now` is a time of the
 * database's clock; the default is the database's current time.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * const end = { fieldPartnerId, visitId, disposition: "DOOR_LOCKED", occurredAt: now } as const;
 * const { kind } = await completeVisit(tx, end, { environment: "live" });
 * const isQueued = kind === "not_found" && (await queueCompletion(tx, idempotencyKey, end));
 */
export function queueCompletion(tx: Tx, key: string, completion: VisitToComplete, now?: Date): Promise<boolean> {
  return queueInput(tx, { mutation: "completeVisit", key }, completion, now);
}

/**
 * Queues a request for a link until the start of its visit arrives. Call it under `lockVisit`, after
 * `requestPaymentLink` has not found the visit. `now` and the returned value have the same meaning as in
 * `queueCompletion`.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * const request = { fieldPartnerId, visitId, amountMinor: 250_000n, currency: currency("INR") };
 * const { kind } = await requestPaymentLink(tx, request, {});
 * const isQueued = kind === "visit_not_found" && (await queueLinkRequest(tx, idempotencyKey, request));
 */
export function queueLinkRequest(tx: Tx, key: string, request: PaymentLinkRequest, now?: Date): Promise<boolean> {
  return queueInput(tx, { mutation: "requestPaymentLink", key }, request, now);
}

/**
 * Processes the queued requests of a visit whose start is recorded. Call it under `lockVisit`, in the transaction that
 * records the start.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * await startVisit(tx, { fieldPartnerId, caseId, visitId, occurredAt: now }, { environment: "live" });
 * const processed = await processQueuedRequests(tx, { fieldPartnerId, visitId }, { environment: "live" });
 */
export async function processQueuedRequests(
  tx: Tx,
  visit: VisitOfFieldPartner,
  context: AppContext,
): Promise<ProcessedRequest[]> {
  const processed: ProcessedRequest[] = [];
  for (const queued of await takeQueuedRequests(tx, visit, context.now ?? new Date())) {
    const { mutation, key } = queued;
    processed.push(
      mutation === "completeVisit"
        ? { mutation, key, outcome: await completeVisit(tx, completionOf(queued), context) }
        : { mutation, key, outcome: await requestPaymentLink(tx, linkRequestOf(queued), context) },
    );
  }
  return processed;
}

async function queueInput(
  tx: Tx,
  mutation: Pick<QueuedRequest, "mutation" | "key">,
  { fieldPartnerId, visitId, ...fields }: VisitToComplete | PaymentLinkRequest,
  now?: Date,
): Promise<boolean> {
  const exact = (_name: string, value: unknown) => (typeof value === "bigint" ? value.toString() : value);
  const input: unknown = JSON.parse(JSON.stringify(fields, exact));
  const receivedAt = now ?? (await databaseTime(tx));
  return queueRequest(tx, { fieldPartnerId, visitId, ...mutation, receivedAt, input });
}

function completionOf({ fieldPartnerId, visitId, input, receivedAt }: QueuedRequest): VisitToComplete {
  const { occurredAt, promise, ...fields } = input as Serialized<VisitToComplete>;
  return {
    ...(fields as Pick<VisitToComplete, "disposition" | "note">),
    ...(promise && { promise: { ...promise, amountMinor: BigInt(promise.amountMinor) } as PromiseTerms }),
    fieldPartnerId,
    visitId,
    occurredAt: new Date(occurredAt),
    queuedSince: receivedAt,
  };
}

function linkRequestOf({ fieldPartnerId, visitId, input, receivedAt }: QueuedRequest): PaymentLinkRequest {
  const { amountMinor, occurredAt, ...fields } = input as Serialized<PaymentLinkRequest>;
  const request = {
    ...fields,
    ...(occurredAt !== undefined && { occurredAt: new Date(occurredAt) }),
    fieldPartnerId,
    visitId,
    amountMinor: BigInt(amountMinor),
    queuedSince: receivedAt,
  };
  return request as PaymentLinkRequest;
}
