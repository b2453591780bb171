import { BEFORE_ALL_IDS, forLenders, insertFor, lenderStatement, query, send, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { appendOnlyTable } from "@collections/ledger";
import type { CurrencyCode, Percent } from "@collections/money";
import { type Attribution, type BookingWarning, PaymentBookingEntity } from "../schema.ts";

/**
 * One captured payment of a loan and the outcome of booking it, in minor units. A repeated confirmation is answered with
 * the same booking.
 */
export interface Booking {
  readonly lenderId: string;
  readonly id: string;
  readonly sourceLoanNumber: string;
  /** The lender's id of the payment. Lender, loan and reference form the idempotency key, which never expires. */
  readonly reference: string;
  readonly caseId: string;
  readonly cycle: number;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  readonly mode: string;
  /** The payment mode as the lender sent it. */
  readonly rawMode: string;
  readonly paidAt: Date;
  /** The link id as the lender sent it. It may be unknown to this service. */
  readonly linkId: string | null;
  readonly visitId: string | null;
  readonly fieldPartnerId: string | null;
  readonly attribution: Attribution;
  /** The part of the amount that was owed. `appliedMinor` and `excessMinor` add up to `amountMinor`. */
  readonly appliedMinor: bigint;
  readonly excessMinor: bigint;
  readonly outstandingAfterMinor: bigint;
  /** The sum of the case's payments up to and including this payment. Excess is included. */
  readonly totalCollectedAfterMinor: bigint;
  readonly statusAfter: "in_progress" | "collected";
  readonly sequence: bigint;
  readonly warnings: readonly BookingWarning[];
  readonly recordedAt: Date;
  /**
   * Equal to `appliedMinor` if the lender's balance already included this payment. In that case an adjustment of the same
   * amount is booked too, so the outstanding amount does not change. Null for every other payment, which lowers the
   * outstanding amount by `appliedMinor`.
   */
  readonly inBalanceMinor: bigint | null;
  /** The reference of the payment that this booking completes; null for a payment of its own. */
  readonly partOf: string | null;
  /**
   * The rate of the commission on this payment, also on excess that is applied later. Null if the payment has no field
   * partner, and on bookings of older versions.
   */
  readonly commissionPercent: Percent | null;
}

/** Identifies a booking by its lender, its loan and the lender's reference of the payment. */
export interface BookingKey {
  readonly lenderId: string;
  readonly loan: string;
  readonly reference: string;
}

/** A loan and a time. `paymentsAfter` returns the payments of the loan that were paid after this time. */
export interface PaymentsAfterKey {
  readonly lenderId: string;
  readonly loan: string;
  readonly after: Date;
}

export const bookings = appendOnlyTable(tableOf(PaymentBookingEntity));

/**
 * Inserts any number of bookings with one SQL statement. If a (lender, loan, reference) is already booked, the transaction
 * fails with a unique violation. The caller then reads the bookings again. Post the `paymentPostings` of each booking in
 * the same transaction.
 *
 * @example
 * bookPayments(tx, [booking]);
 * postTransfers(tx, paymentPostings(booking));
 */
export function bookPayments(tx: Tx, newBookings: readonly Booking[]): void {
  if (newBookings.length > 0) send(tx, ...insertFor(tx, bookings.insert, bookings.values(newBookings)));
}

/**
 * Returns the bookings that exist for the keys (lender, loan and reference), in no particular order. contract: Errors
 * (409 carries the original booking)
 *
 * @example
 * const [original] = await bookingsFor(tx, [{ lenderId, loan: "LN-2026-00417", reference: "UTR402812345678" }]);
 * if (original) console.log(`Booked before, on ${original.recordedAt.toISOString()}.`);
 */
export async function bookingsFor(tx: EntityManager | Tx, keys: readonly BookingKey[]): Promise<Booking[]> {
  if (keys.length === 0) return [];
  const lenderIds = keys.map(({ lenderId }) => lenderId);
  const [loans, references] = [keys.map(({ loan }) => loan), keys.map(({ reference }) => reference)];
  return query(tx, ...forLenders(selectBookings, [lenderIds, loans, references]));
}

/**
 * Returns the latest payments of a loan over all its cycles, newest first.
 *
 * @example
 * const [latest] = await paymentsOf(em, lenderId, "LN-2026-00417", 1);
 */
export async function paymentsOf(
  em: EntityManager | Tx,
  lenderId: string,
  loan: string,
  limit = 50,
): Promise<Booking[]> {
  return query(em, selectPayments, [lenderId, loan, limit]);
}

/**
 * Returns the payments that were paid after a time, in the order of their sequence. Each element of `keys` names a loan
 * and its own time, `after`. A balance as of that time does not include these payments.
 *
 * @example
 * const outstandingAsOf = new Date("2026-11-20T00:00:00Z");
 * const later = await paymentsAfter(tx, [{ lenderId, loan: "LN-2026-00417", after: outstandingAsOf }]);
 * const laterMinor = later.reduce((sum, { appliedMinor }) => sum + appliedMinor, 0n);
 */
export async function paymentsAfter(tx: EntityManager | Tx, keys: readonly PaymentsAfterKey[]): Promise<Booking[]> {
  if (keys.length === 0) return [];
  const lenderIds = keys.map(({ lenderId }) => lenderId);
  const [loans, times] = [keys.map(({ loan }) => loan), keys.map(({ after }) => after.toISOString())];
  return query(tx, ...forLenders(selectPaymentsAfter, [lenderIds, loans, times]));
}

/**
 * Returns the sum of the payments on a case that were paid at or after `from` and before `to`, including excess. Amounts
 * that have been reversed do not count.
 *
 * @example
 * const day = { from: new Date("2026-11-19T18:30:00Z"), to: new Date("2026-11-20T18:30:00Z") };
 * const paidMinor = await paidOnCase(tx, { lenderId, loan: "LN-2026-00417", caseId }, day);
 */
export async function paidOnCase(
  em: EntityManager | Tx,
  { lenderId, loan, caseId }: { readonly lenderId: string; readonly loan: string; readonly caseId: string },
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<bigint> {
  const values = [lenderId, loan, caseId, from.toISOString(), to.toISOString()];
  const [sum] = await query<{ paidMinor: bigint }>(em, selectPaidOnCase, values);
  return sum!.paidMinor;
}

/** The payments attributed to a field partner, over all lenders, in one currency. */
export interface Collected {
  readonly currency: CurrencyCode;
  readonly payments: bigint;
  readonly amountMinor: bigint;
}

/**
 * Returns the number and the sum of the payments attributed to a field partner, by currency. It counts payments that were
 * booked at or after `from` and before `to`. The sum does not include amounts that have been reversed, and a payment that has
 * been reversed in full does not count.
 *
 * @example
 * const november = { from: new Date("2026-11-01T00:00:00Z"), to: new Date("2026-12-01T00:00:00Z") };
 * for (const { currency, payments, amountMinor } of await collectedBy(em, fieldPartnerId, november)) {
 *   console.log(`${payments} payments, ${amountMinor} in minor units of ${currency}`);
 * }
 */
export async function collectedBy(
  em: EntityManager,
  fieldPartnerId: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<Collected[]> {
  return query(em, selectCollected, [fieldPartnerId, from.toISOString(), to.toISOString()]);
}

/**
 * Returns the bookings of a lender with these ids, in no particular order.
 *
 * @example
 * const [booking] = await bookingsByIds(em, lenderId, [reversal.bookingId]);
 */
export async function bookingsByIds(em: EntityManager, lenderId: string, ids: readonly string[]): Promise<Booking[]> {
  if (ids.length === 0) return [];
  const options = { exclude: ["digest"], disableIdentityMap: true } as const;
  return em.find(PaymentBookingEntity, { lenderId, id: { $in: [...ids] } }, options);
}

/**
 * Returns one page of a lender's bookings, ordered by id. Checks compare them with rows of other domains.
 *
 * @example
 * const first = await bookingPage(em, lenderId, undefined, 1_000);
 * const next = await bookingPage(em, lenderId, first.at(-1)?.id, 1_000);
 */
export async function bookingPage(
  em: EntityManager,
  lenderId: string,
  after: string | undefined,
  limit: number,
): Promise<Booking[]> {
  const where = { lenderId, id: { $gt: after ?? BEFORE_ALL_IDS } };
  const options = { orderBy: { id: "asc" }, limit, exclude: ["digest"], disableIdentityMap: true } as const;
  return em.find(PaymentBookingEntity, where, options);
}

// LATERAL with a LIMIT makes PostgreSQL look up each key in the index. Without it, a plan that was prepared while the
// table was empty would read the whole table.
export const selectBookings = lenderStatement(
  "ledger.bookings-for",
  { ofOne: "p.lender_id = $4", ofMany: "p.lender_id = k.lender_id" },
  (isTheLenders) => `select ${bookings.selected("b")}
   from (
     select * from unnest($1::uuid[], $2::text[], $3::text[]) as k (lender_id, loan, reference) limit cardinality($1)
   ) k
   cross join lateral (
     select * from ledger.payment_booking p
     where ${isTheLenders} and p.source_loan_number = k.loan and p.reference = k.reference
     limit 1
   ) b`,
);

export const selectPayments = statement(
  "ledger.payments-of",
  `select ${bookings.selected("b")} from ledger.payment_booking b
   where b.lender_id = $1 and b.source_loan_number = $2
   order by b.sequence desc limit $3`,
);

export const selectPaymentsAfter = lenderStatement(
  "ledger.payments-after",
  { ofOne: "p.lender_id = $4", ofMany: "p.lender_id = k.lender_id" },
  (isTheLenders) => `select ${bookings.selected("b")}
   from unnest($1::uuid[], $2::text[], $3::timestamptz[]) as k (lender_id, loan, after)
   cross join lateral (
     select * from ledger.payment_booking p
     where ${isTheLenders} and p.source_loan_number = k.loan and p.paid_at > k.after
     offset 0
   ) b
   order by b.lender_id, b.source_loan_number, b.sequence`,
);

const selectPaidOnCase = statement(
  "ledger.paid-on-case",
  `select coalesce(sum(b.amount_minor - coalesce(r.minor, 0)), 0)::bigint as "paidMinor"
   from ledger.payment_booking b left join lateral (
     select sum(amount_minor) as minor from ledger.payment_reversal
     where lender_id = $1 and source_loan_number = $2 and booking_id = b.id
   ) r on true
   where b.lender_id = $1 and b.source_loan_number = $2 and b.case_id = $3 and b.paid_at >= $4 and b.paid_at < $5`,
);

const selectCollected = statement(
  "ledger.collected-by",
  `select b.currency::text as currency, count(*) filter (where b.amount_minor > coalesce(r.minor, 0)) as payments,
     sum(b.amount_minor - coalesce(r.minor, 0))::bigint as "amountMinor"
   from ledger.payment_booking b left join lateral (
     select sum(v.amount_minor) as minor from ledger.payment_reversal v
     where v.lender_id = b.lender_id and v.source_loan_number = b.source_loan_number and v.booking_id = b.id
   ) r on true
   where b.field_partner_id = $1 and b.recorded_at >= $2 and b.recorded_at < $3
   group by b.currency order by b.currency`,
);
