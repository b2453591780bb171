import {
  type Booking,
  bookingsFor,
  earningChangePostings,
  paymentsWithExcess,
  type Posting,
  postTransfers,
  recordReversal,
  remainingOf,
  type Reversal,
  reversalPostings,
  reversalsFor,
  reversalsOf,
  transfersOfBookings,
} from "@collections/bookings";
import {
  applyReversal,
  lockCase,
  lockCurrentCases,
  type LockedCase,
  numberEvents,
  type NumberedEvent,
  type ReversalEffect,
  type ReversedCase,
  writeCaseStates,
  writeReversedCase,
} from "@collections/cases";
import { type EntityManager, isUniqueViolation, newId, publicId, signal, type Tx } from "@collections/database";
import {
  addEarnings,
  adjustEarning,
  type EarningAdjustment,
  lockEarningsOfBookings,
  reverseEarnings,
} from "@collections/earnings";
import { fieldPartnersByIds, lockFieldPartnerState } from "@collections/field-partners";
import { commissionPlans, recordAct } from "@collections/lenders";
import { toWire } from "@collections/money";
import { linksByLenderLinkId, markReversed } from "@collections/payment-links";
import { caseEvent, emitCaseEvents, type EventOrigin } from "../case/event.ts";
import { PAYMENT_LINK_CHANNEL } from "../link/payment-link-channel.ts";
import { bookedReference, possibleReferences } from "./reference.ts";
import {
  checkReversal,
  refusedReversal,
  type RefusedReversal,
  reversalDifferences,
  type ReversalRequest,
} from "./reversal-request.ts";
import { commitUnlessDryRun } from "../dry-run.ts";

/** Everything that a reversal changes. */
export interface ReversalEffects {
  readonly caseBefore: ReversedCase;
  readonly caseAfter: ReversedCase;
  readonly reopened: boolean;
  readonly postings: readonly Posting[];
  /** The changes of the earnings on the payment, and on other payments whose excess is now applied. */
  readonly earnings: readonly EarningAdjustment[];
  /** The ids of the links whose payment is reversed. */
  readonly linkIds: readonly string[];
  readonly events: readonly NumberedEvent[];
}

/** The outcome of a reversal. */
export type ReversalOutcome =
  | { readonly kind: "reversed"; readonly reversal: Reversal; readonly effects: ReversalEffects }
  | { readonly kind: "duplicate"; readonly original: Reversal; readonly differences: readonly string[] }
  | RefusedReversal;

/** The lender, the loan and the reference of a payment. */
export type PaymentName = Pick<ReversalRequest, "lender" | "loan" | "reference">;

/** Options of `reversePayment` and `movePayment`. */
export interface ReversalOptions {
  /** Whether this is a dry run: everything is rolled back, and the outcome is returned as usual. Default: false. */
  readonly dryRun?: boolean;
  /**
   * Why an operator does this. If given, the audit gets an entry with this reason, in the same transaction, unless
   * nothing is changed.
   */
  readonly auditReason?: string;
}

/**
 * Reverses a captured payment or a part of it, exactly once (contract: Payment reversal request). One transaction under
 * the lock of the loan writes the reversal, corrections in the ledger, the case, the earnings, the link and the events. A
 * repeat gets the first reversal, whatever has happened since.
 *
 * @example
 * const outcome = await reversePayment(em, request, "live");
 * if (outcome.kind === "reversed") console.log(`Outstanding: ${outcome.reversal.outstandingAfterMinor}`);
 * if (outcome.kind === "duplicate") console.log(`Already recorded: ${outcome.original.id}`);
 * if (outcome.kind === "refused") console.error(outcome.code, outcome.detail);
 */
export async function reversePayment(
  em: EntityManager,
  request: ReversalRequest,
  environment: string,
  { dryRun = false, auditReason }: ReversalOptions = {},
): Promise<ReversalOutcome> {
  const { lender, loan } = request;
  const run = () =>
    commitUnlessDryRun(em, dryRun, async (tx) => {
      const [current] = await lockCurrentCases(tx, [{ lenderId: lender.id, loan }]);
      const outcome = await reverseLocked(tx, current, request, environment);
      if (outcome.kind === "reversed" && auditReason !== undefined) {
        const data = actData(outcome.reversal);
        recordAct(tx, { lenderId: lender.id, act: "payment.reversed", reason: auditReason, data });
      }
      return outcome;
    });
  try {
    return await run();
  } catch (error) {
    // Two transactions of this function cannot insert the same reversal, because both lock the case. If other code
    // inserted the same reversal, the second run finds it and reports a duplicate.
    if (!isUniqueViolation(error)) throw error;
    return run();
  }
}

/** Reverses a payment in the caller's transaction, which has locked `current`: the current case of the loan. */
export async function reverseLocked(
  tx: Tx,
  current: LockedCase | undefined,
  request: ReversalRequest,
  environment: string,
): Promise<ReversalOutcome> {
  const { lender, loan } = request;

  // Find the original of a repeat, then the payment.
  const originals = await reversalsFor(
    tx,
    possibleReferences(request.reversalReference).map((one) => ({ lenderId: lender.id, loan, reversalReference: one })),
  );
  const [original] = originals;
  if (original) return { kind: "duplicate", original, differences: reversalDifferences(original, request) };
  if (!current) return refusedReversal("LOAN_NOT_FOUND", "There is no case of this loan; import it first.");
  const booking = await bookingOf(tx, request);
  if (!booking) {
    const detail = "No payment of this loan is booked under this reference; confirm the payment first.";
    return refusedReversal("PAYMENT_NOT_FOUND", detail, "/reference");
  }

  // Lock the payment's case, if it is of an earlier cycle, and read what earlier reversals have left of the payment.
  const worked =
    booking.caseId === current.id ? current : await lockCase(tx, { lenderId: lender.id, caseId: booking.caseId });
  if (!worked) throw new Error(`The case ${booking.caseId} of the booking ${booking.id} does not exist.`);
  const before = await reversalsOf(tx, lender.id, loan);
  const checked = checkReversal(request, booking, remainingOf(booking, before));
  if ("kind" in checked) return checked;

  // Apply the reversal to the case.
  const now = new Date();
  const overpaid = await paymentsWithExcess(tx, { lenderId: lender.id, loan, caseId: worked.id });
  const caseBefore = { ...worked, totalReversedMinor: reversedOn(worked.id, before) };
  const returned = {
    amountMinor: checked.amountMinor,
    reversedAt: request.reversedAt,
    payment: remainingOf(booking, before),
    excessIsInBalance: isExcessInBalance(booking),
    held: overpaid
      .filter((one) => one.id !== booking.id && !isExcessInBalance(one))
      .map((one) => ({ bookingId: one.id, excessMinor: remainingOf(one, before).excessMinor })),
    keepsHolder: await isHolderActive(tx, worked),
  };
  const effect = applyReversal(caseBefore, returned, now);

  // Number the events in the loan's sequence, which the current case stores.
  const isCurrent = worked.id === current.id;
  const numbered = isCurrent
    ? { caseAfter: effect.caseAfter, events: effect.events }
    : numberEvents(
        current,
        effect.events.map(({ kind }) => kind),
      );
  const reversal = reversalOf(request, { booking, effect, sequence: numbered.events[0]!.sequence, now });

  // Write everything.
  const touched = [booking, ...overpaid.filter(({ id }) => effect.reapplied.some(({ bookingId }) => bookingId === id))];
  const transfers = await transfersOfBookings(
    tx,
    reversal,
    touched.map(({ id }) => id),
  );
  const adjustments = await adjustedEarnings(tx, touched, { reversal, before, caseAfter: effect.caseAfter });
  const postings = [
    ...reversalPostings(reversal, transfers, effect.includedAsOf),
    ...adjustments.flatMap(({ booking: { id: bookingId, fieldPartnerId, caseId }, ...change }) =>
      fieldPartnerId === null
        ? []
        : earningChangePostings({ ...reversal, ...change, bookingId, fieldPartnerId, caseId }, reversal, transfers),
    ),
  ];
  recordReversal(tx, reversal);
  postTransfers(tx, postings);
  writeReversedCase(
    tx,
    { ...effect.caseAfter, sequence: isCurrent ? effect.caseAfter.sequence : worked.sequence },
    now,
  );
  if (!isCurrent) writeCaseStates(tx, [numbered.caseAfter], now);
  addEarnings(
    tx,
    adjustments.flatMap(({ added }) => added ?? []),
  );
  reverseEarnings(
    tx,
    adjustments.flatMap(({ reversed }) => reversed),
  );
  const linkIds = await markLinksReversed(tx, booking, request.reversedAt);
  const origin = { lenderCode: lender.code, environment, now };
  const holders = await fieldPartnersByIds(
    tx,
    effect.caseAfter.assignedFieldPartnerId === null ? [] : [effect.caseAfter.assignedFieldPartnerId],
  );
  const holder = holders.get(effect.caseAfter.assignedFieldPartnerId ?? "");
  const fieldPartner = holder ? { id: publicId("fp", holder.id), displayName: holder.displayName } : null;
  await emitReversal(tx, numbered, { reversal, fieldPartner, origin });
  const effects = {
    caseBefore,
    caseAfter: effect.caseAfter,
    reopened: effect.reopened,
    postings,
    earnings: adjustments,
    linkIds,
    events: numbered.events,
  };
  return { kind: "reversed", reversal, effects };
}

/** Returns the facts of a reversal that the audit has. */
export function actData(reversal: Reversal): Record<string, string> {
  const { sourceLoanNumber: loan, reference, reversalReference, currency, amountMinor, reason } = reversal;
  return { loan, reference, reversalReference, currency, amountMinor: amountMinor.toString(), reversalReason: reason };
}

/** Returns the booking of the payment, whichever form of the reference it was booked under. */
export async function bookingOf(
  em: EntityManager | Tx,
  { lender, loan, reference }: PaymentName,
): Promise<Booking | undefined> {
  const forms = possibleReferences(reference);
  const found = await bookingsFor(
    em,
    forms.map((form) => ({ lenderId: lender.id, loan, reference: form })),
  );
  return forms.flatMap((form) => found.find((booking) => booking.reference === form) ?? [])[0];
}

/**
 * Tells whether the payment's excess was part of a balance above 0. The borrower then owed more than the service knew, so
 * this excess is not held for the borrower, and is owed again when it is reversed.
 */
function isExcessInBalance({ inBalanceMinor, outstandingAfterMinor }: Booking): boolean {
  return inBalanceMinor !== null && outstandingAfterMinor > 0n;
}

function reversedOn(caseId: string, reversals: readonly Reversal[]): bigint {
  return reversals.reduce((sum, one) => (one.caseId === caseId ? sum + one.amountMinor : sum), 0n);
}

/**
 * Tells whether a case that is reopened keeps its field partner. Locks the field partner, so that a concurrent
 * suspension waits.
 */
async function isHolderActive(tx: Tx, { status, assignedFieldPartnerId }: LockedCase): Promise<boolean> {
  if (status !== "collected" || assignedFieldPartnerId === null) return true;
  return (await lockFieldPartnerState(tx, assignedFieldPartnerId))?.state === "active";
}

interface ReversalFacts {
  readonly booking: Booking;
  readonly effect: ReversalEffect;
  readonly sequence: bigint;
  readonly now: Date;
}

function reversalOf(request: ReversalRequest, { booking, effect, sequence, now }: ReversalFacts): Reversal {
  const { caseAfter, appliedMinor, excessMinor, includedAsOf, adjustmentMinor, reapplied } = effect;
  return {
    lenderId: booking.lenderId,
    id: newId(),
    bookingId: booking.id,
    sourceLoanNumber: booking.sourceLoanNumber,
    reference: booking.reference,
    reversalReference: bookedReference(request.reversalReference),
    caseId: booking.caseId,
    cycle: booking.cycle,
    amountMinor: appliedMinor + excessMinor,
    currency: booking.currency,
    reversedAt: request.reversedAt,
    reason: request.reason,
    note: request.note,
    appliedMinor,
    excessMinor,
    inBalance: includedAsOf !== null,
    adjustmentMinor,
    reapplied: reapplied.map(({ bookingId, amountMinor }) => ({ bookingId, amountMinor: amountMinor.toString() })),
    outstandingAfterMinor: caseAfter.outstandingMinor,
    totalCollectedAfterMinor: caseAfter.totalCollectedMinor,
    totalReversedAfterMinor: caseAfter.totalReversedMinor,
    excessAfterMinor: caseAfter.excessMinor,
    statusAfter: caseAfter.status,
    sequence,
    warnings: [...request.warnings, ...balanceWarnings(includedAsOf)],
    recordedAt: now,
    currentCaseId: null,
    currentAdjustmentMinor: null,
  };
}

function balanceWarnings(includedAsOf: Date | null): Reversal["warnings"] {
  if (includedAsOf === null) return [];
  const asOf = includedAsOf.toISOString();
  const detail = `The balance as of ${asOf} includes this reversal already; the outstanding amount stays as it is.`;
  return [{ code: "REVERSAL_IN_BALANCE", pointer: "/reversedAt", detail }];
}

/**
 * Returns how the earnings on each booking change, so that they add up to the commission on the amount that is applied
 * now.
 */
async function adjustedEarnings(
  tx: Tx,
  touched: readonly Booking[],
  { reversal, before, caseAfter }: { reversal: Reversal; before: readonly Reversal[]; caseAfter: LockedCase },
): Promise<(EarningAdjustment & { readonly booking: Booking })[]> {
  const { lenderId, recordedAt: now } = reversal;
  const lines = await lockEarningsOfBookings(
    tx,
    lenderId,
    touched.map(({ id }) => id),
  );
  const commission = (await commissionPlans(tx, [lenderId])).get(lenderId);
  if (commission === undefined) throw new Error(`The lender ${lenderId} has no commission.`);
  return touched.map((booking) => {
    const appliedMinor = remainingOf(booking, [...before, reversal]).appliedMinor;
    const change = {
      reversalId: reversal.id,
      appliedBeforeMinor: remainingOf(booking, before).appliedMinor,
      caseHasEnded: caseAfter.closedAt !== null,
      commission: booking.commissionPercent ?? commission,
    };
    const own = lines.filter(({ bookingId }) => bookingId === booking.id);
    return { booking, ...adjustEarning(own, { ...booking, bookingId: booking.id, appliedMinor }, change, now) };
  });
}

/** Marks the links that this payment paid as reversed, and returns their ids. */
async function markLinksReversed(tx: Tx, booking: Booking, reversedAt: Date): Promise<string[]> {
  const { lenderId, linkId, sourceLoanNumber } = booking;
  if (linkId === null) return [];
  const named = await linksByLenderLinkId(tx, [{ lenderId, linkId }]);
  const ids = named.filter((link) => link.sourceLoanNumber === sourceLoanNumber).map(({ id }) => id);
  markReversed(tx, { lenderId, ids, reversedAt });
  for (const id of ids) signal(tx, PAYMENT_LINK_CHANNEL, id);
  return ids;
}

interface EventFacts {
  readonly reversal: Reversal;
  readonly fieldPartner: object | null;
  readonly origin: EventOrigin;
}

/** Emits the events of a reversal. They show the loan's current case, also if the payment is of an earlier cycle. */
async function emitReversal(
  tx: Tx,
  { caseAfter, events }: { readonly caseAfter: LockedCase; readonly events: readonly NumberedEvent[] },
  { reversal, fieldPartner, origin }: EventFacts,
): Promise<void> {
  const { reference, reversalReference } = reversal;
  await emitCaseEvents(
    tx,
    events.map((event) => {
      const data =
        event.kind === "payment.reversed" ? reversalData(reversal) : { reference, reversalReference, fieldPartner };
      return caseEvent(caseAfter, { ...event, data }, origin);
    }),
  );
}

function reversalData(reversal: Reversal): object {
  const { currency } = reversal;
  return {
    reference: reversal.reference,
    reversalReference: reversal.reversalReference,
    amount: toWire(reversal.amountMinor, currency),
    reason: reversal.reason,
    reversedAt: reversal.reversedAt.toISOString(),
    caseId: publicId("case", reversal.caseId),
    cycle: reversal.cycle,
    inBalance: reversal.inBalance,
    totalReversed: toWire(reversal.totalReversedAfterMinor, currency),
    excessAmount: toWire(reversal.excessAfterMinor, currency),
  };
}
