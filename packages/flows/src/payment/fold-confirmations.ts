import {
  type Booking,
  commission,
  earningCredited,
  includedInBalance,
  paymentPostings,
  type Posting,
} from "@collections/bookings";
import { applyPayment, type LockedCase } from "@collections/cases";
import { newId, publicId } from "@collections/database";
import { credited, type Earning, earningOn } from "@collections/earnings";
import { type Percent, readAmount, toWire } from "@collections/money";
import type { PaidLink } from "@collections/payment-links";
import {
  checkConfirmation,
  type Confirmation,
  type ConfirmationOutcome,
  differencesFrom,
  partOf,
  refused,
} from "./confirmation.ts";
import { creditedPostings } from "../case/credit-ended.ts";
import { type CaseEvent, caseEvent } from "../case/event.ts";
import { bookingWarnings, type Unwarned } from "./booking-warnings.ts";
import { bookedReference, possibleReferences } from "./reference.ts";

/** The data that were read for a batch of confirmations, before any is booked. The cases are locked. */
export interface LoadedSet {
  readonly lockedCases: readonly LockedCase[];
  readonly bookings: readonly Booking[];
  readonly links: readonly PaidLink[];
  readonly plans: ReadonlyMap<string, Percent>;
  /** The pending earnings of the cases that `casesThatMayEnd` returns. */
  readonly pendingEarnings: readonly Earning[];
}

/** The rows to write after the fold. */
export interface SetToWrite {
  readonly bookings: readonly Booking[];
  readonly postings: readonly Posting[];
  readonly cases: readonly LockedCase[];
  readonly earnings: readonly Earning[];
  /** The earnings of earlier payments that are now credited. */
  readonly creditedEarnings: readonly Earning[];
  readonly paidLinks: readonly { lenderId: string; id: string; paidAt: Date }[];
  readonly events: readonly CaseEvent[];
}

interface FoldContext {
  readonly environment: string;
  readonly now: Date;
}

/** The state of the fold: the loaded data, updated by the effect of each payment. */
interface Fold {
  readonly cases: Map<string, LockedCase>;
  readonly bookings: Map<string, Booking>;
  /** The links by the lender's linkId, the newest first. */
  readonly links: ReadonlyMap<string, readonly PaidLink[]>;
  readonly plans: ReadonlyMap<string, Percent>;
  /** The stored pending earnings by case id. It has an entry for each case that may end. */
  readonly pending: Map<string, Earning[]>;
  readonly changed: Set<string>;
  /** The links that payments of this fold have paid. */
  readonly paidLinkIds: Set<string>;
  readonly written: {
    bookings: Booking[];
    postings: Posting[];
    earnings: Earning[];
    creditedEarnings: Earning[];
    paidLinks: { lenderId: string; id: string; paidAt: Date }[];
    events: CaseEvent[];
  };
}

/**
 * Applies confirmations one after the other, each to the case as the previous payment left it. It is a pure function,
 * except that it creates ids.
 */
export function foldConfirmations(
  loaded: LoadedSet,
  confirmations: readonly Confirmation[],
  context: FoldContext,
): { outcomes: ConfirmationOutcome[]; toWrite: SetToWrite } {
  const fold = startFold(loaded, confirmations);
  const outcomes = confirmations.map((confirmation) => applyConfirmation(fold, confirmation, context));
  return { outcomes, toWrite: { ...fold.written, cases: [...fold.changed].map((key) => fold.cases.get(key)!) } };
}

/**
 * Returns the cases that these confirmations may end, and the cases that have ended. Pending earnings are read only for
 * these cases, because a loan that is paid in many parts has many earnings.
 */
export function casesThatMayEnd(
  lockedCases: readonly LockedCase[],
  confirmations: readonly Confirmation[],
): LockedCase[] {
  const ofLoan = Map.groupBy(confirmations, ({ lender, loan }) => keyOf(lender.id, loan));
  return lockedCases.filter(({ lenderId, sourceLoanNumber, currency, outstandingMinor, closedAt }) => {
    let restMinor = outstandingMinor;
    for (const { amount } of ofLoan.get(keyOf(lenderId, sourceLoanNumber)) ?? []) {
      const reading = readAmount(amount, currency);
      if ("minor" in reading) restMinor -= reading.minor;
    }
    return closedAt !== null || restMinor <= 0n;
  });
}

function startFold(loaded: LoadedSet, confirmations: readonly Confirmation[]): Fold {
  const { lockedCases, bookings, links, plans, pendingEarnings } = loaded;
  const pending = Map.groupBy(pendingEarnings, ({ caseId }) => caseId);
  return {
    cases: new Map(lockedCases.map((one) => [keyOf(one.lenderId, one.sourceLoanNumber), one])),
    bookings: new Map(bookings.map((one) => [keyOf(one.lenderId, one.sourceLoanNumber, one.reference), one])),
    links: Map.groupBy(
      links.toSorted((a, b) => (a.id < b.id ? 1 : -1)),
      ({ lenderId, linkId }) => keyOf(lenderId, linkId),
    ),
    plans,
    pending: new Map(casesThatMayEnd(lockedCases, confirmations).map(({ id }) => [id, pending.get(id) ?? []])),
    changed: new Set(),
    paidLinkIds: new Set(),
    written: { bookings: [], postings: [], earnings: [], creditedEarnings: [], paidLinks: [], events: [] },
  };
}

function applyConfirmation(fold: Fold, confirmation: Confirmation, context: FoldContext): ConfirmationOutcome {
  const { lender, loan, linkId } = confirmation;
  const original = originalOf(fold, confirmation);
  if (original) return { kind: "duplicate", original, differences: differencesFrom(original, confirmation) };

  const lockedCase = fold.cases.get(keyOf(lender.id, loan));
  if (!lockedCase) return refused("LOAN_NOT_FOUND", "There is no case of this loan; import it first.");
  // A gateway may have used the linkId for links of several loans. The links of this loan take precedence.
  const named = linkId === null ? [] : (fold.links.get(keyOf(lender.id, linkId)) ?? []);
  const own = named.filter(({ sourceLoanNumber }) => sourceLoanNumber === loan);
  const links = own.length > 0 ? own : named;
  const checked = checkConfirmation(confirmation, lockedCase, links[0]);
  if ("kind" in checked) return checked;

  const booking = book(fold, { ...confirmation, ...checked }, { lockedCase, links }, context);
  return { kind: "booked", booking };
}

function originalOf(
  { bookings }: Fold,
  { lender, loan, reference }: Pick<Confirmation, "lender" | "loan" | "reference">,
): Booking | undefined {
  const booked = possibleReferences(reference).map((possible) => bookings.get(keyOf(lender.id, loan, possible)));
  return booked.find((booking) => booking !== undefined);
}

function book(
  fold: Fold,
  payment: Confirmation & { amountMinor: bigint },
  { lockedCase, links }: { lockedCase: LockedCase; links: readonly PaidLink[] },
  { environment, now }: FoldContext,
): Booking {
  const { lender, loan } = payment;
  const reference = bookedReference(payment.reference);
  const [link] = links;
  const { caseAfter, appliedMinor, excessMinor, includedAsOf, events } = applyPayment(lockedCase, payment, now);
  const attribution = attributionOf(lockedCase, payment, link);
  const [collected] = events;
  if (!collected) throw new Error("A payment emitted no event.");
  const unwarned: Unwarned = {
    lenderId: lender.id,
    id: newId(),
    sourceLoanNumber: loan,
    reference,
    caseId: caseAfter.id,
    cycle: caseAfter.cycle,
    amountMinor: payment.amountMinor,
    currency: caseAfter.currency,
    mode: payment.mode,
    rawMode: payment.rawMode,
    paidAt: payment.paidAt,
    linkId: payment.linkId,
    ...attribution,
    appliedMinor,
    excessMinor,
    outstandingAfterMinor: caseAfter.outstandingMinor,
    totalCollectedAfterMinor: caseAfter.totalCollectedMinor,
    statusAfter: caseAfter.status === "collected" ? "collected" : "in_progress",
    sequence: collected.sequence,
    recordedAt: now,
    inBalanceMinor: includedAsOf === null ? null : appliedMinor,
    partOf: partOf(payment),
    commissionPercent: attribution.fieldPartnerId === null ? null : (fold.plans.get(lender.id) ?? null),
  };
  const isLinkPaid = links.some((one) => isPaid(one) || fold.paidLinkIds.has(one.id));
  const warned = bookingWarnings(unwarned, { ...payment, links, isLinkPaid, includedAsOf });
  const booking: Booking = { ...unwarned, warnings: [...payment.warnings, ...partWarnings(fold, payment), ...warned] };
  const origin = { lenderCode: lender.code, environment, now };
  for (const { kind, sequence } of events) {
    const data = kind === "payment.collected" ? paymentData(booking) : closingData(booking);
    fold.written.events.push(caseEvent(caseAfter, { kind, sequence, data }, origin));
  }
  const key = keyOf(lender.id, loan);
  fold.cases.set(key, caseAfter);
  fold.changed.add(key);
  fold.bookings.set(keyOf(lender.id, loan, reference), booking);
  fold.written.bookings.push(booking);
  if (includedAsOf !== null) fold.written.postings.push(...includedInBalance(booking, includedAsOf));
  fold.written.postings.push(...paymentPostings(booking));
  fold.written.paidLinks.push(...links.map(({ lenderId, id }) => ({ lenderId, id, paidAt: payment.paidAt })));
  for (const { id } of links) fold.paidLinkIds.add(id);
  earn(fold, booking, now);
  if (caseAfter.closedAt !== null) credit(fold, caseAfter.id, now);
  return booking;
}

/**
 * Decides which field partner and visit a payment is attributed to. A link determines both. Without a link, the payment
 * is attributed to the field partner of the case, if the case was assigned to them when the payment was captured.
 */
function attributionOf(
  lockedCase: LockedCase,
  { paidAt }: Confirmation,
  link: PaidLink | undefined,
): Pick<Booking, "attribution" | "fieldPartnerId" | "visitId"> {
  if (link) return { attribution: "exact", fieldPartnerId: link.fieldPartnerId, visitId: link.visitId };
  const { assignedFieldPartnerId: fieldPartnerId, assignedSince, lastVisitId } = lockedCase;
  // The time of the assignment is null if it was not stored yet when the case was assigned. Then the field partner gets
  // all payments of the case.
  const heldIt = assignedSince === null || assignedSince <= paidAt;
  if (fieldPartnerId !== null && heldIt) return { attribution: "inferred", fieldPartnerId, visitId: lastVisitId };
  return { attribution: "none", fieldPartnerId: null, visitId: null };
}

/** Tells whether a payment has paid the link. After a reversal, the borrower may pay by the link again. */
function isPaid({ status, reversedAt }: PaidLink): boolean {
  return status === "paid" && reversedAt === null;
}

function partWarnings(fold: Fold, payment: Confirmation): Booking["warnings"] {
  const reference = partOf(payment);
  if (reference === null || originalOf(fold, { ...payment, reference })) return [];
  const detail =
    "No payment with this reference is booked on the loan. The payment is booked as a part of it nevertheless.";
  return [{ code: "PARENT_NOT_FOUND", pointer: "/partOf", detail }];
}

function closingData({ reference, currency, inBalanceMinor }: Booking): object {
  const inBalance = inBalanceMinor === null ? {} : { inBalance: toWire(inBalanceMinor, currency) };
  return { closeReason: "paid_in_full", reference, ...inBalance };
}

function paymentData(booking: Booking): object {
  return {
    reference: booking.reference,
    amount: toWire(booking.amountMinor, booking.currency),
    mode: booking.mode,
    paidAt: booking.paidAt.toISOString(),
    linkId: booking.linkId,
    partOf: booking.partOf,
    visitId: booking.visitId === null ? null : publicId("vis", booking.visitId),
    attribution: booking.attribution,
    excessAmount: toWire(booking.excessMinor, booking.currency),
    inBalance: toWire(booking.inBalanceMinor ?? 0n, booking.currency),
  };
}

/** Adds the commission on the applied part of a payment. Excess earns nothing, and a commission of 0 has no row. */
function earn(fold: Fold, booking: Booking, now: Date): void {
  const percent = fold.plans.get(booking.lenderId);
  const earning = percent === undefined ? undefined : earningOn({ ...booking, bookingId: booking.id }, percent, now);
  if (!earning) return;
  fold.written.earnings.push(earning);
  fold.written.postings.push(...commission(earning, now));
}

/** Credits the pending earnings of a case that has ended, including those of earlier payments in this batch. */
function credit(fold: Fold, caseId: string, now: Date): void {
  const before = fold.pending.get(caseId);
  if (!before) throw new Error(`The case ${caseId} has ended, but its pending earnings were not read.`);
  fold.pending.set(caseId, []);
  fold.written.creditedEarnings.push(...before);
  fold.written.postings.push(...creditedPostings(before, now));
  for (const [index, earning] of fold.written.earnings.entries()) {
    if (earning.caseId !== caseId || earning.status !== "pending") continue;
    fold.written.earnings[index] = credited(earning, now);
    fold.written.postings.push(...earningCredited(earning, now));
  }
}

function keyOf(...parts: string[]): string {
  return parts.join("\n");
}
