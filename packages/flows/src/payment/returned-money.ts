import {
  type AppliedExcess,
  type Booking,
  isMistake,
  paymentsAfter,
  type RemainingPayment,
  remainingOf,
  type Reversal,
} from "@collections/bookings";
import { differenceOf, isLater, type LoanBalance, type LockedCase, type ReturnedMoney } from "@collections/cases";
import type { Tx } from "@collections/entities";
import { lockFieldPartnerState } from "@collections/field-partners";
import { laterMoney } from "../case/later-money.ts";
import type { ReversalRequest } from "./reversal-request.ts";

/** The reversals of a loan, and the excess that balances have applied. */
export interface LoanChanges {
  readonly reversals: readonly Reversal[];
  readonly applied: readonly AppliedExcess[];
}

/** Returns the part of a payment that is not reversed, divided into applied amount and excess. */
export function remainingAfter(booking: Booking, { reversals, applied }: LoanChanges): RemainingPayment {
  return remainingOf(booking, reversals, applied);
}

/** A payment and the amount to reverse, in minor units of its currency. */
export interface PaymentToReverse extends Pick<ReversalRequest, "reversedAt" | "reason"> {
  readonly booking: Booking;
  readonly amountMinor: bigint;
}

/** Before every payment and reversal. */
const BEGINNING = new Date("0001-01-01T00:00:00Z");

/**
 * Reads the payments and reversals that the balance of `owing` leaves out, and returns by how much the reversal changes
 * what is owed there. `before` has all earlier reversals of the loan.
 */
export async function returnedMoney(
  tx: Tx,
  owing: LockedCase & LoanBalance,
  { booking, amountMinor, reversedAt, reason }: PaymentToReverse,
  before: LoanChanges,
): Promise<{ returned: ReturnedMoney; laterBookings: readonly Booking[] }> {
  const { lenderId, sourceLoanNumber: loan, currency, outstandingAsOf, sequence } = owing;
  const later = await paymentsAfter(tx, [{ lenderId, loan, after: outstandingAsOf ?? BEGINNING }]);
  const laterBookings = later.filter(
    (one) => one.currency === currency && isLater(owing, { at: one.paidAt, sequence: one.sequence }),
  );
  const money = laterMoney({
    bookings: laterBookings,
    reversals: before.reversals.filter(
      (one) => one.currency === currency && isLater(owing, { at: one.reversedAt, sequence: one.sequence }),
    ),
    ofBookings: before.reversals,
    heldOf: (one) => (one.caseId === owing.id ? remainingAfter(one, before).excessMinor : 0n),
  });
  const beforeMinor = differenceOf(owing, money);
  const counts = isMistake(reason)
    ? laterBookings.some(({ id }) => id === booking.id)
    : isLater(owing, { at: reversedAt, sequence: sequence + 1n });
  const held = money.payments
    .filter(({ bookingId, heldMinor }) => heldMinor > 0n && bookingId !== booking.id)
    .toSorted((one, other) => one.paidAt.getTime() - other.paidAt.getTime())
    .map(({ bookingId, heldMinor }) => ({ bookingId, excessMinor: heldMinor }));
  return {
    returned: {
      amountMinor,
      payment: remainingAfter(booking, before),
      difference: { beforeMinor, afterMinor: counts ? beforeMinor + amountMinor : beforeMinor },
      held,
      keepsHolder: await isHolderActive(tx, owing),
    },
    laterBookings,
  };
}

/**
 * Tells whether a case that is reopened keeps its field partner. Locks the field partner, so that a concurrent
 * suspension waits.
 */
async function isHolderActive(tx: Tx, { status, assignedFieldPartnerId }: LockedCase): Promise<boolean> {
  if (status !== "collected" || assignedFieldPartnerId === null) return true;
  return (await lockFieldPartnerState(tx, assignedFieldPartnerId))?.state === "active";
}
