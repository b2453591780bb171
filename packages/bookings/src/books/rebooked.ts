import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";

/**
 * Payments in one currency that were reversed, because they were entered by mistake or on the wrong loan, and were then
 * booked again without a field partner. The first booking had a field partner, whose earning ended with the reversal.
 */
export interface RebookedPayments {
  readonly currency: CurrencyCode;
  readonly payments: number;
  /** The sum of the new bookings, in minor units. */
  readonly amountMinor: bigint;
  /** The loan and the reference of the first five new bookings, such as `LN-1 UTR9`. */
  readonly names: readonly string[];
  /** When the oldest of the new bookings was recorded. */
  readonly since: Date;
}

/**
 * Returns a lender's payments that were reversed at or after `reversedSince` and booked again without a field partner, by
 * currency. A booking is the same payment if it has the same reference, or the same time and amount. A new booking that
 * was reversed too does not count. Reads all bookings of the lender.
 *
 * @example
 * const aMonthAgo = new Date(Date.now() - 30 * 86_400_000);
 * for (const { payments, names } of await rebookedWithoutFieldPartner(em, lenderId, aMonthAgo)) console.log(payments, names);
 */
export async function rebookedWithoutFieldPartner(
  em: EntityManager,
  lenderId: string,
  reversedSince: Date,
): Promise<RebookedPayments[]> {
  return query(em, selectRebooked, [lenderId, reversedSince.toISOString()], LONG_TIMEOUT);
}

/** The client's time limit: a little longer than the server's own limit for a statement. */
const LONG_TIMEOUT = { timeoutMs: 35_000 };

// The two ways to recognise a payment are separate joins, so that each can be a hash join.
const selectRebooked = statement(
  "ledger.rebooked-without-field-partner",
  `with reversed as (
     select r.reference, b.paid_at, r.amount_minor, r.booking_id, r.recorded_at
     from ledger.payment_reversal r join ledger.payment_booking b on b.lender_id = $1 and b.id = r.booking_id
     where r.lender_id = $1 and r.recorded_at >= $2 and r.reason in ('wrong_loan', 'entered_by_mistake')
       and b.field_partner_id is not null
   ), again as (
     select n.id from ledger.payment_booking n join reversed v on v.reference = n.reference
     where n.lender_id = $1 and n.field_partner_id is null and n.recorded_at >= v.recorded_at and n.id <> v.booking_id
     union
     select n.id from ledger.payment_booking n join reversed v on v.paid_at = n.paid_at and v.amount_minor = n.amount_minor
     where n.lender_id = $1 and n.field_partner_id is null and n.recorded_at >= v.recorded_at and n.id <> v.booking_id
   )
   select n.currency::text as currency, count(*)::integer as payments, sum(n.amount_minor)::bigint as "amountMinor",
     (array_agg(n.source_loan_number || ' ' || n.reference order by n.recorded_at, n.id))[1:5] as names,
     min(n.recorded_at) as since
   from again join ledger.payment_booking n on n.lender_id = $1 and n.id = again.id
   where n.amount_minor > coalesce((
     select sum(w.amount_minor) from ledger.payment_reversal w
     where w.lender_id = $1 and w.source_loan_number = n.source_loan_number and w.booking_id = n.id
   ), 0)
   group by n.currency::text order by 1`,
);
