import type { Invariant } from "./evidence.ts";

interface Booking {
  readonly loan: string;
  readonly reference: string;
  readonly amount: string;
  readonly sequence: string;
}

/**
 * Compares the bookings in the database with the payments that the clients sent, by the payments' references. A
 * reference is never used for two payments.
 */
export const bookedOnce: Invariant = {
  name: "every acknowledged payment is booked once, as it was acknowledged",
  async violations({ rows, model }) {
    const { rows: bookings } = await rows.query<Booking>(SELECT_BOOKINGS);
    const byReference = Map.groupBy(bookings, ({ reference }) => reference);
    const unknown = [...byReference.keys()].filter((reference) => !model.payments.has(reference));
    const found = [...model.payments.values()].flatMap(({ reference, loan, amountMinor, acknowledged }) => {
      const booked = byReference.get(reference) ?? [];
      if (booked.length > 1) return [`${reference} is booked ${booked.length} times`];
      const [booking] = booked;
      if (booking === undefined) return acknowledged ? [`${reference} was acknowledged but is not booked`] : [];
      const isAsSent = booking.loan === loan && BigInt(booking.amount) === BigInt(amountMinor);
      if (!isAsSent)
        return [`${reference} is booked as ${booking.amount} on ${booking.loan}, which differs from what was sent`];
      if (acknowledged && Number(booking.sequence) !== acknowledged.sequence) {
        return [
          `${reference} was acknowledged with sequence ${acknowledged.sequence}, but its booking has ${booking.sequence}`,
        ];
      }
      return [];
    });
    return [...found, ...unknown.map((reference) => `${reference} is booked, but no client sent it`)];
  },
};

const SELECT_BOOKINGS = `
  select source_loan_number as loan, reference, amount_minor::text as amount, sequence::text as sequence
  from ledger.payment_booking`;
