import { type LockedCase, visitOfFieldPartner } from "@collections/cases";
import { enqueue } from "@collections/database";
import type { Tx } from "@collections/entities";
import { lenderById } from "@collections/lenders";
import type { CurrencyCode } from "@collections/money";
import { type Channel, type PaymentLink, requestLink, TooManyLinksError } from "@collections/payment-links";
import { type AppContext, isImpossible } from "../request/app-request.ts";
import { fieldWorkRefusal, type FieldWorkRefusal } from "../request/field-work.ts";
import { mintPaymentLinkQueue } from "./link-jobs.ts";
import { lockLoan } from "../case/lock-loan.ts";

/** A field partner's request for a link, made at the borrower's door. */
export interface PaymentLinkRequest {
  readonly fieldPartnerId: string;
  readonly visitId: string;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  /** The channels to send the link over. Default: all; with an empty list the link is only shown on the phone. */
  readonly channels?: readonly Channel[];
  /**
   * When the field partner requested the link, by the phone's clock. Default: when the service received the request. With
   * an impossible time nobody knows how old the request is, so its link becomes unavailable.
   */
  readonly occurredAt?: Date;
  /**
   * When the service received and queued the request. Present only if the request arrived before the start of its
   * visit.
   */
  readonly queuedSince?: Date;
}

/** The outcome of a request for a link. A `requested` link is not minted yet. */
export type RequestPaymentLinkOutcome =
  | { readonly kind: "requested"; readonly link: PaymentLink }
  /** There is no such visit, or the visit belongs to another field partner. */
  | { readonly kind: "visit_not_found" }
  | { readonly kind: "case_not_workable"; readonly code: FieldWorkRefusal }
  /** The case already had MAX_LINKS_PER_CASE links in the last 24 hours. */
  | { readonly kind: "too_many_links" }
  /** The amount is outside the bounds, which are inclusive and in minor units of the case's currency. */
  | {
      readonly kind: "amount_not_allowed";
      readonly minimumMinor: bigint;
      readonly maximumMinor: bigint;
      readonly currency: CurrencyCode;
    };

/**
 * Requests a link and returns at once; a job mints the link. contract: What the service does
 *
 * @example
 * const shownOnly = { fieldPartnerId, visitId, amountMinor: 250_000n, currency: currency("INR"), channels: [] };
 * const outcome = await requestPaymentLink(tx, shownOnly, {});
 * if (outcome.kind === "amount_not_allowed") console.log(outcome.minimumMinor, outcome.maximumMinor);
 */
export async function requestPaymentLink(
  tx: Tx,
  request: PaymentLinkRequest,
  context: Pick<AppContext, "now">,
): Promise<RequestPaymentLinkOutcome> {
  const { fieldPartnerId, visitId, amountMinor, currency, channels, occurredAt, queuedSince } = request;
  const { now = new Date() } = context;

  // Find the visit and lock its case.
  const visit = await visitOfFieldPartner(tx, fieldPartnerId, visitId);
  if (!visit) return { kind: "visit_not_found" };
  const { lenderId, caseId } = visit;
  const [{ worked }, lender] = await Promise.all([lockLoan(tx, visit), lenderById(tx, lenderId)]);

  // Check that this field partner may request a link over this amount.
  const blocked = fieldWorkRefusal(worked, lender!, now);
  if (blocked) return { kind: "case_not_workable", code: blocked };
  if (worked.assignedFieldPartnerId !== fieldPartnerId) return { kind: "case_not_workable", code: "NOT_ASSIGNED" };
  const bounds = boundsOf(worked);
  if (currency !== worked.currency || amountMinor < bounds.minimumMinor || amountMinor > bounds.maximumMinor) {
    return { kind: "amount_not_allowed", ...bounds, currency: worked.currency };
  }

  // Write the link and the job that mints it. The link is created with the database's time, because workers compute its
  // age by that clock.
  const wanted = { visitId, fieldPartnerId, amountMinor, currency, cameOutOfOrder: queuedSince !== undefined };
  const isAgeUnknown = occurredAt !== undefined && isImpossible(occurredAt, queuedSince ?? now);
  const askedAt = isAgeUnknown ? LONG_AGO : earliestOf(occurredAt, queuedSince);
  const { sourceLoanNumber } = worked;
  const newLink = { lenderId, caseId, sourceLoanNumber, ...wanted, askedAt, ...(channels && { channels }) };
  const link = await requestLink(tx, newLink, context.now).catch(unlessTooMany);
  if (!link) return { kind: "too_many_links" };
  await enqueue(tx, mintPaymentLinkQueue, { lenderId, linkId: link.id, caseId }, { headStart: true });
  return { kind: "requested", link };
}

const LONG_AGO = new Date(0);

/**
 * Returns when a link was requested: by the phone's clock, or when the service received the request, whichever is
 * earlier. If the phone's clock is ahead, its time alone would make a queued request look newer than it is.
 */
function earliestOf(tappedAt: Date | undefined, receivedAt: Date | undefined): Date | null {
  if (tappedAt && receivedAt) return tappedAt < receivedAt ? tappedAt : receivedAt;
  return tappedAt ?? receivedAt ?? null;
}

function unlessTooMany(error: unknown): undefined {
  if (!(error instanceof TooManyLinksError)) throw error;
}

/**
 * Returns the allowed amounts: from the lender's minimum to the outstanding amount. If the outstanding amount is below
 * the minimum, only the whole outstanding amount is allowed.
 */
function boundsOf({ minimumMinor, outstandingMinor }: LockedCase): { minimumMinor: bigint; maximumMinor: bigint } {
  const least = minimumMinor === null || minimumMinor < 1n ? 1n : minimumMinor;
  return { minimumMinor: least < outstandingMinor ? least : outstandingMinor, maximumMinor: outstandingMinor };
}
