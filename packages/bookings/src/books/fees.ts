import { firstIdAt, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CurrencyCode, Percent } from "@collections/money";

/** A transfer that changed what a lender pays for commissions. Amounts are in minor units. */
export interface FeeLine {
  /** The id of the transfer. */
  readonly id: string;
  /**
   * `commission` is the commission on a payment, booked together with it. `increase` and `decrease` changed the commission
   * later: a reversal, or a balance that applied excess.
   */
  readonly kind: "commission" | "increase" | "decrease";
  readonly recordedAt: Date;
  readonly currency: CurrencyCode;
  /** Below 0 for a decrease. */
  readonly feeMinor: bigint;
  readonly memo: string;
  readonly sourceLoanNumber: string;
  readonly reference: string;
  readonly paymentMinor: bigint;
  readonly paidAt: Date;
  /** The rate of the booking; null on bookings of older versions. */
  readonly commissionPercent: Percent | null;
}

/** The sums of the lines in one currency. Amounts are in minor units, 0 or above. */
export interface FeeSum {
  readonly currency: CurrencyCode;
  /** The number of commissions and increases. */
  readonly charges: number;
  readonly chargedMinor: bigint;
  readonly decreases: number;
  readonly takenBackMinor: bigint;
}

/** A period by the time of recording: `from` is included, `to` is not. */
export interface FeePeriod {
  readonly from: Date;
  readonly to: Date;
}

/** The greatest difference that is assumed between the time in a transfer's id and its `recordedAt`, as in `recordedSums`. */
const ID_DIFFERS_MS = 3_600_000;

/**
 * Returns up to `limit` lines of a lender's commission expense in a period, in the order of their ids. `after` is the id of
 * the last line of the page before. The fees of all lines add up to the movement of the lender's `commissionExpenseAccount`.
 *
 * @example
 * const november = { from: new Date("2026-10-31T18:30:00Z"), to: new Date("2026-11-30T18:30:00Z") };
 * const lines = await feeLines(em, lenderId, { ...november, limit: 1_000 });
 * const nextLines = await feeLines(em, lenderId, { ...november, after: lines.at(-1)?.id, limit: 1_000 });
 */
export async function feeLines(
  em: EntityManager,
  lenderId: string,
  { from, to, after, limit }: FeePeriod & { readonly after?: string | undefined; readonly limit: number },
): Promise<FeeLine[]> {
  const [first, last] = idsOf({ from, to });
  // The lines of `after` itself are not repeated, because the bound is exclusive.
  const since = after !== undefined && after > first ? after : first;
  return query(em, selectFeeLines, [lenderId, since, last, from.toISOString(), to.toISOString(), limit]);
}

/**
 * Counts and adds up the lines of `feeLines` by currency, with one query. Its time grows with the number of the
 * lender's transfers in the period.
 *
 * @example
 * const november = { from: new Date("2026-10-31T18:30:00Z"), to: new Date("2026-11-30T18:30:00Z") };
 * const [inRupees] = await feeSums(em, lenderId, november);
 * const feeMinor = inRupees ? inRupees.chargedMinor - inRupees.takenBackMinor : 0n;
 */
export async function feeSums(em: EntityManager, lenderId: string, { from, to }: FeePeriod): Promise<FeeSum[]> {
  return query(em, selectFeeSums, [lenderId, ...idsOf({ from, to }), from.toISOString(), to.toISOString()]);
}

function idsOf({ from, to }: FeePeriod): [first: string, last: string] {
  return [firstIdAt(new Date(from.getTime() - ID_DIFFERS_MS)), firstIdAt(new Date(to.getTime() + ID_DIFFERS_MS))];
}

// There is no index on recorded_at, because every confirmation would have to write it. A transfer's id contains the time at
// which it was made, so the primary key finds the transfers of a period.
const LINES = `select p.id, p.kind, p.recorded_at, p.booking_id, p.currency, p.memo,
       case when p.debit_account like 'commission_expense/%' then p.amount_minor else -p.amount_minor end as fee_minor
     from ledger.transfer p
     where p.lender_id = $1 and p.id > $2 and p.id < $3
       and p.recorded_at >= $4::timestamptz and p.recorded_at < $5::timestamptz
       and (p.debit_account like 'commission_expense/%' or p.credit_account like 'commission_expense/%')
     order by p.id`;

// The LIMIT is a sub-select, so that PostgreSQL assumes that few rows are needed and reads the primary key in order, also
// without statistics. The order of the bookings makes every plan read each booking by its primary key. The commission on a payment
// is recorded together with the payment, and an increase later.
const selectFeeLines = statement(
  "ledger.fee-lines",
  `select t.id, case when t.fee_minor < 0 then 'decrease' when t.recorded_at = b.recorded_at then 'commission'
       else 'increase' end as kind, t.recorded_at as "recordedAt", t.currency::text as currency, t.fee_minor as "feeMinor",
     t.memo, b.source_loan_number as "sourceLoanNumber", b.reference, b.amount_minor as "paymentMinor",
     b.paid_at as "paidAt", b.commission_percent as "commissionPercent"
   from (${LINES} limit (select $6::bigint)) t
   join lateral (
     select p.* from ledger.payment_booking p
     where p.lender_id = $1 and p.id >= t.booking_id order by p.id limit 1
   ) b on b.id = t.booking_id
   order by t.id`,
);

// OFFSET makes every plan read the transfers by the primary key.
const selectFeeSums = statement(
  "ledger.fee-sums",
  `select t.currency::text as currency, (count(*) filter (where t.fee_minor > 0))::integer as charges,
     coalesce(sum(t.fee_minor) filter (where t.fee_minor > 0), 0)::bigint as "chargedMinor",
     (count(*) filter (where t.fee_minor < 0))::integer as decreases,
     coalesce(-sum(t.fee_minor) filter (where t.fee_minor < 0), 0)::bigint as "takenBackMinor"
   from (${LINES} offset 0) t
   group by 1 order by 1`,
);
