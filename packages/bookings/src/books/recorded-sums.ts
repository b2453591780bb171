import { type EntityManager, firstIdAt, query, statement } from "@collections/database";
import type { CurrencyCode } from "@collections/money";

/** A period of time, from `from` (included) to `to` (excluded). */
export interface RecordedIn {
  readonly from: Date;
  readonly to: Date;
}

/** The payments in one currency that were booked in a period. Amounts are in minor units, before any reversal. */
export interface PaymentSum {
  readonly currency: CurrencyCode;
  readonly payments: number;
  readonly amountMinor: bigint;
  /** The number of payments with excess. */
  readonly withExcess: number;
  readonly excessMinor: bigint;
}

/** The reversals in one currency that were recorded in a period. The amount is in minor units. */
export interface ReversalSum {
  readonly currency: CurrencyCode;
  readonly reversals: number;
  readonly amountMinor: bigint;
}

/**
 * The greatest difference that is assumed between the time in a row's id and its `recordedAt`. A process makes the id
 * with its own clock, and after it has waited for the lock on the case.
 */
const ID_DIFFERS_MS = 3_600_000;

/**
 * Counts and adds up the payments of a lender that were booked in a period, by currency, in the order of the currencies.
 * A payment counts at the time when it was booked, and not at `paidAt`: so the sums of a past period never change. The
 * query's time grows with the number of payments of the period only.
 *
 * @example
 * const day = { from: new Date("2026-11-19T18:30:00Z"), to: new Date("2026-11-20T18:30:00Z") };
 * for (const { payments, amountMinor, currency } of await paymentSums(em, lenderId, day)) {
 *   console.log(`${payments} payments, ${amountMinor} ${currency} in minor units`);
 * }
 */
export async function paymentSums(em: EntityManager, lenderId: string, period: RecordedIn): Promise<PaymentSum[]> {
  return query(em, selectPaymentSums, [lenderId, ...boundsOf(period)]);
}

/**
 * Counts and adds up the reversals of a lender that were recorded in a period, by currency, in the order of the
 * currencies. A reversal counts at the time when it was recorded, and not at `reversedAt`.
 *
 * @example
 * const day = { from: new Date("2026-11-19T18:30:00Z"), to: new Date("2026-11-20T18:30:00Z") };
 * const [inOneCurrency] = await reversalSums(em, lenderId, day);
 * const returnedMinor = inOneCurrency?.amountMinor ?? 0n;
 */
export async function reversalSums(em: EntityManager, lenderId: string, period: RecordedIn): Promise<ReversalSum[]> {
  return query(em, selectReversalSums, [lenderId, ...boundsOf(period)]);
}

/** Returns the bounds of the period for the ids, and for `recorded_at`. */
function boundsOf({ from, to }: RecordedIn): string[] {
  return [
    firstIdAt(new Date(from.getTime() - ID_DIFFERS_MS)),
    firstIdAt(new Date(to.getTime() + ID_DIFFERS_MS)),
    from.toISOString(),
    to.toISOString(),
  ];
}

// There is no index on recorded_at, because every confirmation would have to write it. A row's id contains the time at
// which it was made, so the primary key finds the rows of a period. The inner ORDER BY with OFFSET makes every plan use
// the primary key.
export const selectPaymentSums = statement(
  "ledger.payment-sums",
  `select b.currency::text as currency, count(*)::integer as payments, sum(b.amount_minor)::bigint as "amountMinor",
     (count(*) filter (where b.excess_minor > 0))::integer as "withExcess", sum(b.excess_minor)::bigint as "excessMinor"
   from (
     select p.currency, p.amount_minor, p.excess_minor, p.recorded_at from ledger.payment_booking p
     where p.lender_id = $1 and p.id >= $2 and p.id < $3 order by p.id offset 0
   ) b
   where b.recorded_at >= $4::timestamptz and b.recorded_at < $5::timestamptz
   group by b.currency order by b.currency`,
);

export const selectReversalSums = statement(
  "ledger.reversal-sums",
  `select r.currency::text as currency, count(*)::integer as reversals, sum(r.amount_minor)::bigint as "amountMinor"
   from (
     select p.currency, p.amount_minor, p.recorded_at from ledger.payment_reversal p
     where p.lender_id = $1 and p.id >= $2 and p.id < $3 order by p.id offset 0
   ) r
   where r.recorded_at >= $4::timestamptz and r.recorded_at < $5::timestamptz
   group by r.currency order by r.currency`,
);
