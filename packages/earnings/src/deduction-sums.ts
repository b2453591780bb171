import { type EntityManager, firstIdAt, query, statement } from "@collections/database";
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
 * Counts and adds up the deductions of a lender that were credited from `from` (included) to `to` (excluded), by currency.
 * Deductions that payouts have taken since count too, so the sums of a past period never change.
 *
 * @example
 * const day = { from: new Date("2026-11-19T18:30:00Z"), to: new Date("2026-11-20T18:30:00Z") };
 * const [inOneCurrency] = await deductionSums(em, lenderId, day);
 * const deductedMinor = inOneCurrency?.amountMinor ?? 0n;
 */
export async function deductionSums(
  em: EntityManager,
  lenderId: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<DeductionSum[]> {
  const ids = [from.getTime() - ID_DIFFERS_MS, to.getTime() + ID_DIFFERS_MS].map((at) => firstIdAt(new Date(at)));
  return query(em, selectDeductions, [lenderId, ...ids, from.toISOString(), to.toISOString()]);
}

// The primary key finds the earnings of a period, because an id contains the time at which it was made. The inner ORDER BY
// with OFFSET makes every plan use the primary key.
const selectDeductions = statement(
  "earnings.deduction-sums",
  `select e.currency::text as currency, count(*)::integer as deductions, (-sum(e.amount_minor))::bigint as "amountMinor"
   from (
     select p.currency, p.amount_minor, p.credited_at from earnings.earning p
     where p.lender_id = $1 and p.id >= $2 and p.id < $3 order by p.id offset 0
   ) e
   where e.amount_minor < 0 and e.credited_at >= $4::timestamptz and e.credited_at < $5::timestamptz
   group by e.currency order by e.currency`,
);
