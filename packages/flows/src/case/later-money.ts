import { type Booking, isMistake, type Reversal } from "@collections/bookings";
import type { LaterMoney } from "@collections/cases";

/** The payments and reversals of a loan that its newest balance does not include, in the balance's currency. */
export interface LaterFacts {
  readonly bookings: readonly Booking[];
  readonly reversals: readonly Reversal[];
  /** All reversals of these bookings, also those that the balance includes. */
  readonly ofBookings: readonly Reversal[];
  /** Returns the excess that a payment still holds on the loan's current case. */
  readonly heldOf: (booking: Booking) => bigint;
}

/**
 * Returns what a balance leaves out. A payment counts without what was reversed because it never was on this loan, and
 * such a reversal adds nothing, whatever its time.
 */
export function laterMoney({ bookings, reversals, ofBookings, heldOf }: LaterFacts): LaterMoney {
  const own = Map.groupBy(ofBookings, ({ bookingId }) => bookingId);
  return {
    payments: bookings.flatMap((booking) => {
      const its = own.get(booking.id) ?? [];
      const amountMinor = booking.amountMinor - sumOf(its.filter(({ reason }) => isMistake(reason)));
      if (amountMinor === 0n) return [];
      const { id: bookingId, reference, paidAt } = booking;
      const isReversed = sumOf(its) === booking.amountMinor;
      return { bookingId, reference, amountMinor, paidAt, isReversed, heldMinor: heldOf(booking) };
    }),
    reversals: reversals.filter(({ reason }) => !isMistake(reason)),
  };
}

function sumOf(reversals: readonly Reversal[]): bigint {
  return reversals.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}
