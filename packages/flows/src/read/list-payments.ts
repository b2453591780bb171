import { type Booking, listBookings, type Reversal, reversalsOfLoans } from "@collections/bookings";
import { BEFORE_ALL_IDS, firstIdAt, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { possibleReferences } from "../payment/reference.ts";
import { paymentBody } from "./payment-body.ts";
import { type StablePage, stablePage } from "./stable-page.ts";

/** The payments that a lender lists. An absent field does not restrict the list. contract: GET payments */
export interface PaymentFilter {
  /** Only payments with a `paidAt` at this time or later. */
  readonly from?: Date | undefined;
  /** Only payments with a `paidAt` before this time. */
  readonly to?: Date | undefined;
  readonly loan?: string | undefined;
  readonly reference?: string | undefined;
}

/**
 * How far an id may be older than the payment's `paidAt`: a confirmation is refused if `paidAt` is more than 5 minutes
 * ahead of the clock that makes the id.
 */
const PAID_AFTER_ID_MS = 15 * 60_000;

/**
 * Returns a page of a lender's payments, in the order in which they were booked. `after` is the `next` of the previous
 * page. The list misses and repeats no payment, also while payments are confirmed.
 *
 * @example
 * let next: string | null | undefined;
 * do {
 *   const page = await listPayments(em, lender.id, { from: new Date("2026-11-20T18:30:00Z") }, next);
 *   for (const payment of page.items) console.log(JSON.stringify(payment));
 *   next = page.next;
 * } while (next !== null);
 */
export async function listPayments(
  em: EntityManager,
  lenderId: string,
  { reference, ...filter }: PaymentFilter,
  after: string | null = null,
): Promise<StablePage<object>> {
  const first = filter.from === undefined ? BEFORE_ALL_IDS : firstIdAt(earlier(filter.from));
  const start = after === null || after < first ? first : after;
  const references = reference === undefined ? undefined : possibleReferences(reference);
  const page = await stablePage(em, start, async (limit) => {
    const found = await listBookings(em, lenderId, { after: start, limit }, { ...filter, references });
    return { rows: found.bookings, searchedTo: found.searchedTo };
  });
  const loans = [...new Set(page.items.map(({ sourceLoanNumber }) => sourceLoanNumber))];
  const reversals = Map.groupBy(await reversalsOfLoans(em, lenderId, loans), ({ bookingId }) => bookingId);
  return { ...page, items: page.items.map((booking) => listedPayment(booking, reversals.get(booking.id))) };
}

function earlier(from: Date): Date {
  return new Date(from.getTime() - PAID_AFTER_ID_MS);
}

function listedPayment(booking: Booking, reversals: readonly Reversal[] | undefined): object {
  const { sourceLoanNumber, caseId, currency } = booking;
  return { sourceLoanNumber, caseId: publicId("case", caseId), currency, ...paymentBody(booking, reversals) };
}
