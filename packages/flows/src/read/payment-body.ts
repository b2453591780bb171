import type { Booking } from "@collections/bookings";
import { toWire } from "@collections/money";

/** Returns a payment as answers show it, in the case snapshot and in lists. */
export function paymentBody({ reference, amountMinor, currency, mode, paidAt, linkId, recordedAt }: Booking): object {
  return { reference, amount: toWire(amountMinor, currency), mode, paidAt, linkId, recordedAt };
}
