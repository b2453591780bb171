import {
  type Booking,
  excessAppliedByBalances,
  type RemainingPayment,
  remainingOf,
  type Reversal,
  reversalsOf,
} from "@collections/bookings";
import { readSnapshot } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { type Earning, earningsOfBookings } from "@collections/earnings";
import { linkById, linksByLenderLinkId, type PaymentLink } from "@collections/payment-links";
import { eventsOf, type StreamEvent } from "@collections/webhooks";
import { bookingOf, type PaymentName } from "./reverse-payment.ts";

/** A payment, and everything that was recorded because of it. */
export interface PaymentHistory {
  readonly booking: Booking;
  /** What is applied and in excess now, after all reversals of the loan. */
  readonly remaining: RemainingPayment;
  /** The reversals of this payment, the oldest first. */
  readonly reversals: readonly Reversal[];
  /** The earnings on this payment, including those that were reversed. */
  readonly earnings: readonly Earning[];
  /** The links that the payment paid. */
  readonly links: readonly PaymentLink[];
  /** The events of the loan whose data name the payment. */
  readonly events: readonly StreamEvent[];
}

/**
 * Returns a payment with its reversals, earnings, links and events, read from one database snapshot. Returns undefined if
 * the loan has no payment with this reference.
 *
 * @example
 * const history = await paymentHistory(em, { lender, loan: "LN-2026-00417", reference: "UTR402812345678" });
 * const reversedMinor = history?.reversals.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
 */
export async function paymentHistory(em: EntityManager, name: PaymentName): Promise<PaymentHistory | undefined> {
  return readSnapshot(em, async (tx) => {
    const { lender, loan } = name;
    const booking = await bookingOf(tx, name);
    if (!booking) return undefined;
    const reversals = await reversalsOf(tx, lender.id, loan);
    const events = await eventsOf(tx, lender.id, loan);
    return {
      booking,
      remaining: remainingOf(booking, reversals, await excessAppliedByBalances(tx, lender.id, [loan])),
      reversals: reversals.filter(({ bookingId }) => bookingId === booking.id),
      earnings: await earningsOfBookings(tx, lender.id, [booking.id]),
      links: await linksOf(tx, booking),
      events: events.filter((event) => referenceIn(event) === booking.reference),
    };
  });
}

async function linksOf(tx: Tx, { lenderId, linkId, sourceLoanNumber }: Booking): Promise<PaymentLink[]> {
  if (linkId === null) return [];
  const named = await linksByLenderLinkId(tx, [{ lenderId, linkId }]);
  const links: PaymentLink[] = [];
  for (const { id } of named.filter((link) => link.sourceLoanNumber === sourceLoanNumber)) {
    const link = await linkById(tx, { lenderId, id });
    if (link) links.push(link);
  }
  return links;
}

function referenceIn({ body }: StreamEvent): unknown {
  return (JSON.parse(body) as { data?: { reference?: unknown } }).data?.reference;
}
