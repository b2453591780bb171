import { firstIdAt, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";

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

/** The payments and reversals of a period, by currency, in the order of the currencies. */
export interface RecordedSums {
  readonly payments: readonly PaymentSum[];
  readonly reversals: readonly ReversalSum[];
}

/**
 * The greatest difference that is assumed between the time in a row's id and its `recordedAt`. A process makes the id
 * with its own clock, and after it has waited for the lock on the case.
 */
const ID_DIFFERS_MS = 3_600_000;

/**
 * Counts and adds up the payments and reversals of a lender in successive periods, with one query. `bounds` has two times
 * or more, in ascending order: a period begins at each time (included), and ends at the next time (excluded). A payment
 * counts when it was booked, and a reversal when it was recorded, and not at `paidAt` or `reversedAt`: so the sums of a
 * past period never change. The query's time grows with the number of rows of the periods only.
 *
 * @example
 * const bounds = ["2026-11-18T18:30:00Z", "2026-11-19T18:30:00Z", "2026-11-20T18:30:00Z"].map((at) => new Date(at));
 * const [dayBefore, day] = await recordedSums(em, lenderId, bounds);
 * for (const { payments, amountMinor, currency } of day?.payments ?? []) {
 *   console.log(`${payments} payments, ${amountMinor} ${currency} in minor units`);
 * }
 */
export async function recordedSums(
  em: EntityManager,
  lenderId: string,
  bounds: readonly Date[],
): Promise<RecordedSums[]> {
  const [from, to] = [bounds[0]!.getTime(), bounds.at(-1)!.getTime()];
  const ids = [from - ID_DIFFERS_MS, to + ID_DIFFERS_MS].map((at) => firstIdAt(new Date(at)));
  const rows = await query<SumRow>(em, selectSums, [lenderId, ...ids, bounds.map((at) => at.toISOString())]);
  const inPeriod = Map.groupBy(rows, ({ period }) => period);
  return bounds.slice(1).map((_, index) => {
    const sums = inPeriod.get(index + 1) ?? [];
    return {
      payments: sums.filter(({ isReversal }) => !isReversal).map(paymentSum),
      reversals: sums
        .filter(({ isReversal }) => isReversal)
        .map(({ currency, count, amountMinor }) => ({ currency, reversals: count, amountMinor })),
    };
  });
}

interface SumRow {
  readonly isReversal: boolean;
  /** The number of the period, from 1; 0 before the first bound, and the number of bounds after the last. */
  readonly period: number;
  readonly currency: CurrencyCode;
  readonly count: number;
  readonly amountMinor: bigint;
  readonly withExcess: number;
  readonly excessMinor: bigint;
}

function paymentSum({ currency, count, amountMinor, withExcess, excessMinor }: SumRow): PaymentSum {
  return { currency, payments: count, amountMinor, withExcess, excessMinor };
}

// There is no index on recorded_at, because every confirmation would have to write it. A row's id contains the time at
// which it was made, so the primary key finds the rows of a period. The inner ORDER BY with OFFSET makes every plan use
// the primary key. Rows before the first and after the last bound are left to the caller: with a condition on the period,
// PostgreSQL expects few rows, and sorts them all instead of adding them up in a hash table.
const selectSums = statement(
  "ledger.recorded-sums",
  `select false as "isReversal", p.period, p.currency::text as currency, count(*)::integer as count,
     sum(p.amount_minor)::bigint as "amountMinor",
     (count(*) filter (where p.excess_minor > 0))::integer as "withExcess", sum(p.excess_minor)::bigint as "excessMinor"
   from (
     select width_bucket(recorded_at, $4::timestamptz[]) as period, currency, amount_minor, excess_minor
     from ledger.payment_booking
     where lender_id = $1 and id >= $2 and id < $3 order by id offset 0
   ) p
   group by p.period, p.currency
   union all
   select true, r.period, r.currency::text, count(*)::integer, sum(r.amount_minor)::bigint, 0, 0::bigint
   from (
     select width_bucket(recorded_at, $4::timestamptz[]) as period, currency, amount_minor
     from ledger.payment_reversal
     where lender_id = $1 and id >= $2 and id < $3 order by id offset 0
   ) r
   group by r.period, r.currency
   order by "isReversal", period, currency`,
);
