import type { Booking, Reversal } from "@collections/bookings";
import { toWire } from "@collections/money";

/** Returns a payment with its reversals as answers show it, in the case snapshot and in lists. */
export function paymentBody(
  { reference, amountMinor, currency, mode, paidAt, linkId, partOf, recordedAt }: Booking,
  reversals: readonly Reversal[] = [],
): object {
  const amount = toWire(amountMinor, currency);
  return { reference, amount, mode, paidAt, linkId, partOf, recordedAt, reversals: reversals.map(reversalBody) };
}

/**
 * Returns a reversal of a payment as answers show it beside the payment.
 *
 * @example
 * const outcome = await reversePayment(em, request, "live");
 * if (outcome.kind === "reversed") console.log(reversalBody(outcome.reversal));
 */
export function reversalBody({
  reversalReference,
  amountMinor,
  currency,
  reason,
  reversedAt,
  recordedAt,
}: Reversal): object {
  return { reversalReference, amount: toWire(amountMinor, currency), reason, reversedAt, recordedAt };
}
