import {
  BEFORE_ALL_IDS,
  type EntityManager,
  forLenders,
  insertFor,
  lenderStatement,
  query,
  send,
  statement,
  type Tx,
} from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import { appendOnlyTable } from "./append-only-table.ts";

/** How a payment found its field partner. contract: Payment confirmation request */
export type Attribution = "exact" | "inferred" | "none";

/** What was odd about a confirmation that was booked all the same. */
export interface BookingWarning {
  readonly code: string;
  readonly pointer: string;
  readonly detail: string;
}

/** One captured payment of a loan and the outcome that it had: what a repeat is answered with. Minor units. */
export interface Booking {
  readonly lenderId: string;
  readonly id: string;
  readonly sourceLoanNumber: string;
  /** The lender's transaction identifier: with the loan, the idempotency key for good. */
  readonly reference: string;
  readonly caseId: string;
  readonly cycle: number;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  readonly mode: string;
  /** As the lender sent it. */
  readonly rawMode: string;
  readonly paidAt: Date;
  /** As the lender sent it, known here or not. */
  readonly linkId: string | null;
  readonly visitId: string | null;
  readonly fieldPartnerId: string | null;
  readonly attribution: Attribution;
  /** The part that paid what was owed; with `excessMinor` it is the amount. */
  readonly appliedMinor: bigint;
  readonly excessMinor: bigint;
  readonly outstandingAfterMinor: bigint;
  /** Everything captured on the case up to this payment, the excess included. */
  readonly totalCollectedAfterMinor: bigint;
  readonly statusAfter: "in_progress" | "collected";
  readonly sequence: bigint;
  readonly warnings: readonly BookingWarning[];
  readonly recordedAt: Date;
  /**
   * The applied part, where the lender's balance included this payment already: an adjustment of the same amount keeps
   * the outstanding amount as it was. Null for every other payment: its applied part lowered the outstanding amount.
   */
  readonly inBalanceMinor: bigint | null;
}

/** What identifies a booking. */
export interface BookingKey {
  readonly lenderId: string;
  readonly loan: string;
  readonly reference: string;
}

/** A loan, and a moment after which its payments are asked for. */
export interface PaymentsAfterKey {
  readonly lenderId: string;
  readonly loan: string;
  readonly after: Date;
}

export const bookings = appendOnlyTable<Booking>("payment_booking", {
  id: "uuid",
  sourceLoanNumber: "text",
  reference: "text",
  caseId: "uuid",
  cycle: "integer",
  amountMinor: "bigint",
  currency: "char(3)",
  mode: "text",
  rawMode: "text",
  paidAt: "timestamptz",
  linkId: "text",
  visitId: "uuid",
  fieldPartnerId: "uuid",
  attribution: "text",
  appliedMinor: "bigint",
  excessMinor: "bigint",
  outstandingAfterMinor: "bigint",
  totalCollectedAfterMinor: "bigint",
  statusAfter: "text",
  sequence: "bigint",
  warnings: "jsonb",
  recordedAt: "timestamptz",
  inBalanceMinor: "bigint",
});

/**
 * Books payments in one statement, whatever their number. A (lender, loan, reference) that is booked already fails the
 * transaction with a unique violation: read the bookings again. Post `paymentPostings` of each in the same transaction.
 *
 * @example
 * bookPayments(tx, [booking]);
 * postTransfers(tx, paymentPostings(booking));
 */
export function bookPayments(tx: Tx, newBookings: readonly Booking[]): void {
  if (newBookings.length > 0) send(tx, ...insertFor(bookings.insert, bookings.values(newBookings)));
}

/**
 * Those of the keys that are booked, whole, in no particular order. contract: Errors (409 carries the original booking)
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
 * The latest payments of a loan over all its cycles, the last one first.
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
 * The payments of each loan that were paid after its moment, in the order of their sequence: what a snapshot misses.
 *
 * @example
 * const snapshotTakenAt = new Date("2026-11-20T00:00:00Z");
 * const missed = await paymentsAfter(tx, [{ lenderId, loan: "LN-2026-00417", after: snapshotTakenAt }]);
 * const missedMinor = missed.reduce((sum, { appliedMinor }) => sum + appliedMinor, 0n);
 */
export async function paymentsAfter(tx: EntityManager | Tx, keys: readonly PaymentsAfterKey[]): Promise<Booking[]> {
  if (keys.length === 0) return [];
  const lenderIds = keys.map(({ lenderId }) => lenderId);
  const [loans, moments] = [keys.map(({ loan }) => loan), keys.map(({ after }) => after.toISOString())];
  return query(tx, ...forLenders(selectPaymentsAfter, [lenderIds, loans, moments]));
}

/**
 * Everything captured on a case that was paid from `from` on and before `to`, the excess included.
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

/** What was captured with a field partner's help, of all lenders, in one currency. */
export interface Collected {
  readonly currency: CurrencyCode;
  readonly payments: bigint;
  readonly amountMinor: bigint;
}

/**
 * The payments attributed to a field partner that were booked from `from` on and before `to`, by currency.
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
 * A lender's bookings in the order of their ids, a page at a time: for checks against other domains' rows.
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
  return query(em, selectBookingPage, [lenderId, after ?? BEFORE_ALL_IDS, limit]);
}

// Lateral with a limit: one index probe per key, also in a plan that was made while the table was empty.
export const selectBookings = lenderStatement(
  "ledger.bookings-for",
  { ofOne: "p.lender_id = $4", ofMany: "p.lender_id = k.lender_id" },
  (isTheLenders) => `select ${bookings.selected("b")}
   from unnest($1::uuid[], $2::text[], $3::text[]) as k (lender_id, loan, reference)
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
  `select coalesce(sum(amount_minor), 0)::bigint as "paidMinor" from ledger.payment_booking
   where lender_id = $1 and source_loan_number = $2 and case_id = $3 and paid_at >= $4 and paid_at < $5`,
);

const selectCollected = statement(
  "ledger.collected-by",
  `select currency::text as currency, count(*) as payments, sum(amount_minor)::bigint as "amountMinor"
   from ledger.payment_booking
   where field_partner_id = $1 and recorded_at >= $2 and recorded_at < $3
   group by currency order by currency`,
);

const selectBookingPage = statement(
  "ledger.booking-page",
  `select ${bookings.selected("b")} from ledger.payment_booking b
   where b.lender_id = $1 and b.id > $2 order by b.id limit $3`,
);
