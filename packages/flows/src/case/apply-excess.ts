import {
  type AppliedExcess,
  type Booking,
  earningChangePostings,
  excessAppliedByBalances,
  excessPostings,
  type Posting,
  remainingOf,
  reversalsOf,
  transfersOfBookings,
} from "@collections/bookings";
import type { ImportedCase } from "@collections/cases";
import type { Tx } from "@collections/entities";
import { addEarnings, adjustEarning, lockEarningsOfBookings } from "@collections/earnings";
import { commissionPlans } from "@collections/lenders";

/** An import row whose balance applies excess of later payments. */
export interface ExcessToApply {
  readonly caseAfter: ImportedCase;
  /** The number of the row's first event. */
  readonly sequence: bigint;
  /** The `outstandingAsOf` of the row. */
  readonly effectiveAt: Date;
  readonly applied: readonly AppliedExcess[];
  /** The bookings of the payments in `applied`. */
  readonly bookings: readonly Booking[];
}

/**
 * Applies excess of payments to a debt that a balance has shown to be larger than known. The payments then earn the
 * commission on what is applied, at the rate of each booking. Returns the postings, to be posted after the adjustment.
 */
export async function applyExcess(tx: Tx, balance: ExcessToApply, now: Date): Promise<Posting[]> {
  const { caseAfter, sequence, effectiveAt, applied, bookings } = balance;
  const { lenderId, id: caseId, sourceLoanNumber: loan, currency, closedAt } = caseAfter;
  const ids = applied.map(({ bookingId }) => bookingId);
  const transfers = await transfersOfBookings(tx, { lenderId, caseId }, ids);
  const reversals = await reversalsOf(tx, lenderId, loan);
  const before = await excessAppliedByBalances(tx, lenderId, [loan]);
  const lines = await lockEarningsOfBookings(tx, lenderId, ids);
  const plan = (await commissionPlans(tx, [lenderId])).get(lenderId);
  if (plan === undefined) throw new Error(`The lender ${lenderId} has no commission.`);
  const changes = applied.map(({ bookingId, amountMinor }) => {
    const booking = bookings.find(({ id }) => id === bookingId)!;
    const { appliedMinor: appliedBeforeMinor } = remainingOf(booking, reversals, before);
    const payment = { ...booking, bookingId, appliedMinor: appliedBeforeMinor + amountMinor };
    const commission = booking.commissionPercent ?? plan;
    const change = { reversalId: null, appliedBeforeMinor, caseHasEnded: closedAt !== null, commission };
    const own = lines.filter((line) => line.bookingId === bookingId);
    return { ...payment, ...adjustEarning(own, payment, change, now) };
  });
  addEarnings(
    tx,
    changes.flatMap(({ added }) => added ?? []),
  );
  const memo = "Commission on excess that a balance applied";
  return [
    ...excessPostings({ lenderId, caseId, currency, sequence, effectiveAt, recordedAt: now }, applied, transfers),
    ...changes.flatMap(({ fieldPartnerId, ...change }) =>
      fieldPartnerId === null
        ? []
        : earningChangePostings({ ...change, fieldPartnerId }, { effectiveAt: now, recordedAt: now, memo }, transfers),
    ),
  ];
}
