import {
  type Booking,
  bookingsFor,
  causeOf,
  earningChangePostings,
  excessAppliedByBalances,
  isMistake,
  type Posting,
  postTransfers,
  recordReversal,
  type Reversal,
  reversalPostings,
  reversalsFor,
  reversalsOf,
  type Transfer,
  transfersOfBookings,
} from "@collections/bookings";
import {
  applyEarlierReversal,
  applyReversal,
  type EarlierReversalEffect,
  type ImportedCase,
  lockCase,
  lockCasesForImport,
  type LoanBalance,
  type LockedCase,
  type NumberedEvent,
  type ReversalEffect,
  type ReversedCase,
  writeCaseStates,
  writeReversedCase,
} from "@collections/cases";
import { isUniqueViolation, newId, publicId, signal } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import {
  addEarnings,
  adjustEarning,
  type EarningAdjustment,
  lockEarningsOfBookings,
  reverseEarnings,
} from "@collections/earnings";
import { fieldPartnersByIds } from "@collections/field-partners";
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
import { type LoanChanges, remainingAfter, returnedMoney } from "./returned-money.ts";

/** Everything that a reversal changes. */
export interface ReversalEffects {
  /** The loan's current case, or the payment's case if the current case has another currency. */
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
  /**
   * Writes more in the transaction of the change, such as the confirmation by a second person. Called once the change or
   * its repeat is accepted. If it throws, nothing is changed.
   */
  readonly alsoWrite?: ((tx: Tx) => Promise<void>) | undefined;
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
  { dryRun = false, auditReason, alsoWrite }: ReversalOptions = {},
): Promise<ReversalOutcome> {
  const { lender, loan } = request;
  const run = () =>
    commitUnlessDryRun(em, dryRun, async (tx) => {
      const [current] = await lockCasesForImport(tx, [{ lenderId: lender.id, loan }]);
      const outcome = await reverseLocked(tx, current, request, environment);
      if (outcome.kind === "reversed" && auditReason !== undefined) {
        const data = actData(outcome.reversal);
        recordAct(tx, { lenderId: lender.id, act: "payment.reversed", reason: auditReason, data });
      }
      if (isAccepted(outcome)) await alsoWrite?.(tx);
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

/** Whether a reversal was recorded, now or before, as it was asked for. */
function isAccepted(outcome: ReversalOutcome): boolean {
  return outcome.kind === "reversed" || (outcome.kind === "duplicate" && outcome.differences.length === 0);
}

/** Reverses a payment in the caller's transaction, which has locked `current`: the current case of the loan. */
export async function reverseLocked(
  tx: Tx,
  current: ImportedCase | undefined,
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

  // Read what earlier reversals and balances have left of the payments, and lock the payment's case if it is of an earlier
  // cycle.
  const before: LoanChanges = {
    reversals: await reversalsOf(tx, lender.id, loan),
    applied: await excessAppliedByBalances(tx, lender.id, [loan]),
  };
  const checked = checkReversal(request, booking, remainingAfter(booking, before));
  if ("kind" in checked) return checked;
  const earlier =
    booking.caseId === current.id ? undefined : await lockCase(tx, { lenderId: lender.id, caseId: booking.caseId });
  if (booking.caseId !== current.id && !earlier) {
    throw new Error(`The case ${booking.caseId} of the booking ${booking.id} does not exist.`);
  }

  // Apply the reversal to the case on which the amount is owed again. The current case cannot owe another currency.
  const now = new Date();
  const owing = earlier && earlier.currency !== current.currency ? asOwing(earlier, current) : current;
  const paid = { ...request, booking, amountMinor: checked.amountMinor };
  const { returned, laterBookings } = await returnedMoney(tx, owing, paid, before);
  const withTotal = (theCase: LockedCase): ReversedCase => ({
    ...theCase,
    totalReversedMinor: reversedOn(theCase.id, before.reversals),
  });
  const caseBefore = withTotal(owing);
  const effect =
    earlier && owing === current
      ? applyEarlierReversal(withTotal(earlier), caseBefore, returned, now)
      : applyReversal(caseBefore, returned, now);
  const reversal = reversalOf(request, { booking, effect, includedAsOf: owing.outstandingAsOf, now });

  // Write everything.
  const isReapplied = ({ id }: Booking) => effect.reapplied.some(({ bookingId }) => bookingId === id);
  const touched = [booking, ...laterBookings.filter(isReapplied)];
  const transfers: Transfer[] = [];
  for (const [caseId, ofCase] of Map.groupBy(touched, (one) => one.caseId)) {
    const ids = ofCase.map(({ id }) => id);
    transfers.push(...(await transfersOfBookings(tx, { lenderId: lender.id, caseId }, ids)));
  }
  const endedCases = new Set([effect.caseAfter, ...(earlier ? [earlier] : [])].flatMap(ifEnded));
  const adjustments = await adjustedEarnings(tx, touched, { reversal, before, endedCases });
  const postings = [
    ...reversalPostings(reversal, transfers, effect.inBalance ? owing.outstandingAsOf : null),
    ...adjustments.flatMap(({ booking: { id: bookingId, fieldPartnerId, caseId }, ...change }) =>
      fieldPartnerId === null
        ? []
        : earningChangePostings(
            { ...reversal, ...change, bookingId, fieldPartnerId, caseId },
            causeOf(reversal),
            transfers,
          ),
    ),
  ];
  recordReversal(tx, reversal);
  postTransfers(tx, postings);
  const { caseAfter, reopened, events } = effect;
  const currentAfter = owing === current ? caseAfter : { ...current, sequence: caseAfter.sequence };
  writeReversedCase(tx, owing === current ? caseAfter : { ...caseAfter, sequence: earlier!.sequence }, now);
  if (owing !== current) writeCaseStates(tx, [currentAfter], now);
  if (isEarlier(effect)) writeReversedCase(tx, effect.earlierAfter, now);
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
    currentAfter.assignedFieldPartnerId === null ? [] : [currentAfter.assignedFieldPartnerId],
  );
  const holder = holders.get(currentAfter.assignedFieldPartnerId ?? "");
  const fieldPartner = holder ? { id: publicId("fp", holder.id), displayName: holder.displayName } : null;
  await emitReversal(tx, { currentAfter, events }, { reversal, fieldPartner, origin });
  return {
    kind: "reversed",
    reversal,
    effects: { caseBefore, caseAfter, reopened, postings, earnings: adjustments, linkIds, events },
  };
}

/**
 * Returns a case of an earlier cycle as one that owes. Its events are numbered with those of the loan, which the current
 * case stores. Its balance is its outstanding amount.
 */
function asOwing(earlier: LockedCase, { sequence }: ImportedCase): LockedCase & LoanBalance {
  return { ...earlier, sequence, balanceMinor: null, balanceAsOf: null, balanceSequence: null };
}

function isEarlier(effect: ReversalEffect): effect is EarlierReversalEffect {
  return "earlierAfter" in effect;
}

function ifEnded({ id, closedAt }: LockedCase): string[] {
  return closedAt === null ? [] : [id];
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

function reversedOn(caseId: string, reversals: readonly Reversal[]): bigint {
  return reversals.reduce((sum, one) => (one.caseId === caseId ? sum + one.amountMinor : sum), 0n);
}

interface ReversalFacts {
  readonly booking: Booking;
  readonly effect: ReversalEffect;
  /** The time up to which the newest balance includes payments and reversals, if it has one. */
  readonly includedAsOf: Date | null;
  readonly now: Date;
}

function reversalOf(request: ReversalRequest, { booking, effect, includedAsOf, now }: ReversalFacts): Reversal {
  const { caseAfter, appliedMinor, excessMinor, inBalance, adjustmentMinor, reapplied, events } = effect;
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
    inBalance,
    adjustmentMinor,
    reapplied: reapplied.map(({ bookingId, amountMinor }) => ({ bookingId, amountMinor: amountMinor.toString() })),
    outstandingAfterMinor: caseAfter.outstandingMinor,
    totalCollectedAfterMinor: caseAfter.totalCollectedMinor,
    totalReversedAfterMinor: caseAfter.totalReversedMinor,
    excessAfterMinor: caseAfter.excessMinor,
    statusAfter: caseAfter.status,
    sequence: events[0]!.sequence,
    warnings: [...request.warnings, ...(inBalance ? balanceWarnings(request.reason, includedAsOf) : [])],
    recordedAt: now,
    currentCaseId: isEarlier(effect) ? caseAfter.id : null,
    currentAdjustmentMinor: isEarlier(effect) ? effect.currentAdjustmentMinor : null,
  };
}

function balanceWarnings(reason: Reversal["reason"], includedAsOf: Date | null): Reversal["warnings"] {
  const balance = includedAsOf === null ? "The newest balance" : `The balance as of ${includedAsOf.toISOString()}`;
  const detail = isMistake(reason)
    ? `${balance} is right without this payment; the outstanding amount stays as it is.`
    : `${balance} includes this reversal already; the outstanding amount stays as it is.`;
  return [{ code: "REVERSAL_IN_BALANCE", pointer: "/reversedAt", detail }];
}

/**
 * Returns how the earnings on each booking change, so that they add up to the commission on the amount that is applied
 * now.
 */
async function adjustedEarnings(
  tx: Tx,
  touched: readonly Booking[],
  { reversal, before, endedCases }: { reversal: Reversal; before: LoanChanges; endedCases: ReadonlySet<string> },
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
    const after = { ...before, reversals: [...before.reversals, reversal] };
    const appliedMinor = remainingAfter(booking, after).appliedMinor;
    const change = {
      reversalId: reversal.id,
      appliedBeforeMinor: remainingAfter(booking, before).appliedMinor,
      caseHasEnded: endedCases.has(booking.caseId),
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
  { currentAfter, events }: { readonly currentAfter: LockedCase; readonly events: readonly NumberedEvent[] },
  { reversal, fieldPartner, origin }: EventFacts,
): Promise<void> {
  const { reference, reversalReference } = reversal;
  await emitCaseEvents(
    tx,
    events.map((event) => {
      const data =
        event.kind === "payment.reversed"
          ? reversalData(reversal)
          : { reference, reversalReference, fieldPartner, outstandingAsOf: null };
      return caseEvent(currentAfter, { ...event, data }, origin);
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
