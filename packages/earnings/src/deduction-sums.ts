import { firstIdAt, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";

/** The deductions of a period in one currency: reversals took back commissions that had been paid out. */
export interface DeductionSum {
  readonly currency: CurrencyCode;
  /** The number of lines that the next payouts deduct. */
  readonly deductions: number;
  /** In minor units, above 0. */
  readonly amountMinor: bigint;
}

/**
 * The greatest difference that is assumed between the time in an earning's id and `creditedAt`. A process makes the id with
 * its own clock, and after it has waited for the lock on the case.
 */
const ID_DIFFERS_MS = 3_600_000;

/**
 * Counts and adds up the deductions of a lender in successive periods, by currency, with one query. `bounds` has two times
 * or more, in ascending order: a period begins at each time (included), and ends at the next time (excluded). Deductions
 * that payouts have taken since count too, so the sums of a past period never change.
 *
 * @example
 * const bounds = ["2026-11-18T18:30:00Z", "2026-11-19T18:30:00Z", "2026-11-20T18:30:00Z"].map((at) => new Date(at));
 * const [dayBefore = [], day = []] = await deductionSums(em, lenderId, bounds);
 * const deductedMinor = day[0]?.amountMinor ?? 0n;
 */
export async function deductionSums(
  em: EntityManager,
  lenderId: string,
  bounds: readonly Date[],
): Promise<DeductionSum[][]> {
  const [from, to] = [bounds[0]!.getTime(), bounds.at(-1)!.getTime()];
  const ids = [from - ID_DIFFERS_MS, to + ID_DIFFERS_MS].map((at) => firstIdAt(new Date(at)));
  const values = [lenderId, ...ids, bounds.map((at) => at.toISOString())];
  const rows = await query<DeductionSum & { readonly period: number }>(em, selectDeductions, values);
  return bounds
    .slice(1)
    .map((_, index) =>
      rows
        .filter(({ period }) => period === index + 1)
        .map(({ currency, deductions, amountMinor }) => ({ currency, deductions, amountMinor })),
    );
}

// An id contains the time at which it was made. So the index of the lines below 0, which is ordered by id, finds those of a
// period. The inner ORDER BY with OFFSET makes every plan use an index in this order.
const selectDeductions = statement(
  "earnings.deduction-sums",
  `select e.period, e.currency::text as currency, count(*)::integer as deductions,
     (-sum(e.amount_minor))::bigint as "amountMinor"
   from (
     select width_bucket(p.credited_at, $4::timestamptz[]) as period, p.currency, p.amount_minor
     from earnings.earning p
     where p.lender_id = $1 and p.id >= $2 and p.id < $3 and p.amount_minor < 0 order by p.id offset 0
   ) e
   where e.period > 0 and e.period < cardinality($4::timestamptz[])
   group by e.period, e.currency order by e.period, e.currency`,
);
