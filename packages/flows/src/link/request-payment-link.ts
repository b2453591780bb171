import { type LockedCase, visitOfFieldPartner } from "@collections/cases";
import { enqueue, type EntityManager, transaction, type Tx } from "@collections/database";
import { lenderById } from "@collections/lenders";
import type { CurrencyCode } from "@collections/money";
import { type Channel, type PaymentLink, requestLink, TooManyLinksError } from "@collections/payment-links";
import { type AppContext, type AppInputFault, occurredAtFault } from "../request/app-request.ts";
import { fieldWorkRefusal, type FieldWorkRefusal } from "../request/field-work.ts";
import { mintPaymentLinkQueue } from "./link-jobs.ts";
import { lockLoan } from "../case/lock-loan.ts";

/** A link that a field partner asks for at a borrower's door. */
export interface PaymentLinkRequest {
  readonly fieldPartnerId: string;
  readonly visitId: string;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  /** Where to send it; every channel unless told, none to show it only. */
  readonly channels?: readonly Channel[];
  /** By the phone's clock; the moment at which the service heard of it unless told. */
  readonly occurredAt?: Date;
  /** When the service heard of it, where that was before it heard of the visit's start. */
  readonly queuedSince?: Date;
}

/** What became of the wish: `requested` is not minted yet. */
export type RequestPaymentLinkOutcome =
  | { readonly kind: "requested"; readonly link: PaymentLink }
  /** No such visit, or another field partner's: the same answer. */
  | { readonly kind: "visit_not_found" }
  | { readonly kind: "case_not_workable"; readonly code: FieldWorkRefusal }
  | AppInputFault
  /** MAX_LINKS_PER_CASE within 24 hours. */
  | { readonly kind: "too_many_links" }
  /** Both bounds are allowed, in minor units of the case's currency. */
  | {
      readonly kind: "amount_not_allowed";
      readonly minimumMinor: bigint;
      readonly maximumMinor: bigint;
      readonly currency: CurrencyCode;
    };

/**
 * Asks for a link and answers at once: it is minted by a job, in its own time. contract: What the service does
 *
 * @example
 * const wish = { fieldPartnerId, visitId, amountMinor: 250_000n, currency: currency("INR") };
 * const outcome = await requestPaymentLink(em, wish, {});
 * if (outcome.kind === "amount_not_allowed") console.log(outcome.minimumMinor, outcome.maximumMinor);
 */
export function requestPaymentLink(
  em: EntityManager,
  wish: PaymentLinkRequest,
  context: Pick<AppContext, "now">,
): Promise<RequestPaymentLinkOutcome> {
  return transaction(em, (tx) => requestPaymentLinkIn(tx, wish, context));
}

/**
 * `requestPaymentLink` inside the caller's transaction.
 *
 * @example
 * const shownOnly = { fieldPartnerId, visitId, amountMinor: 250_000n, currency: currency("INR"), channels: [] };
 * const outcome = await requestPaymentLinkIn(tx, shownOnly, {});
 */
export async function requestPaymentLinkIn(
  tx: Tx,
  wish: PaymentLinkRequest,
  context: Pick<AppContext, "now">,
): Promise<RequestPaymentLinkOutcome> {
  const { fieldPartnerId, visitId, amountMinor, currency, occurredAt, queuedSince } = wish;
  const { now = new Date() } = context;

  // Find the visit, for a wish that can be right, and lock its case.
  const fault = occurredAt && occurredAtFault(occurredAt, now);
  if (fault) return fault;
  const visit = await visitOfFieldPartner(tx, fieldPartnerId, visitId);
  if (!visit) return { kind: "visit_not_found" };
  const { lenderId, caseId } = visit;
  const [{ worked }, lender] = await Promise.all([lockLoan(tx, visit), lenderById(tx, lenderId)]);

  // May this field partner ask for this amount?
  const blocked = fieldWorkRefusal(worked, lender!, now);
  if (blocked) return { kind: "case_not_workable", code: blocked };
  if (worked.assignedFieldPartnerId !== fieldPartnerId) return { kind: "case_not_workable", code: "NOT_ASSIGNED" };
  const bounds = boundsOf(worked);
  if (currency !== worked.currency || amountMinor < bounds.minimumMinor || amountMinor > bounds.maximumMinor) {
    return { kind: "amount_not_allowed", ...bounds, currency: worked.currency };
  }

  // Write the link and the job that mints it. A worker judges how old the wish is, so it has the database's time.
  const { channels } = wish;
  const asked = { visitId, fieldPartnerId, amountMinor, currency, cameOutOfOrder: queuedSince !== undefined };
  const askedAt = earliestOf(occurredAt, queuedSince);
  const { sourceLoanNumber } = worked;
  const request = { lenderId, caseId, sourceLoanNumber, ...asked, askedAt };
  const link = await requestLink(tx, { ...request, ...(channels && { channels }) }, context.now).catch(unlessTooMany);
  if (!link) return { kind: "too_many_links" };
  await enqueue(tx, mintPaymentLinkQueue, { lenderId, linkId: link.id, caseId }, { headStart: true });
  return { kind: "requested", link };
}

/** A phone's clock that is ahead does not make a wish younger than the service knows it to be. */
function earliestOf(tapped: Date | undefined, heard: Date | undefined): Date | null {
  if (tapped && heard) return tapped < heard ? tapped : heard;
  return tapped ?? heard ?? null;
}

function unlessTooMany(error: unknown): undefined {
  if (!(error instanceof TooManyLinksError)) throw error;
}

/** From the lender's minimum to what is owed; a rest below the minimum may be paid whole. */
function boundsOf({ minimumMinor, outstandingMinor }: LockedCase): { minimumMinor: bigint; maximumMinor: bigint } {
  const least = minimumMinor === null || minimumMinor < 1n ? 1n : minimumMinor;
  return { minimumMinor: least < outstandingMinor ? least : outstandingMinor, maximumMinor: outstandingMinor };
}
