import { type EntityManager, query, statement } from "@collections/database";
import type { Percent } from "@collections/money";

const commissions = statement(
  "lenders.commission-plans",
  `select id, commission from lenders.lender where id = any ($1::uuid[])`,
);

/**
 * What field partners earn of a collected amount, by lender. One prepared statement, whatever the number of lenders.
 *
 * @example
 * const plans = await commissionPlans(em, [lenderId]);
 * const commission = plans.get(lenderId);
 * const earnedMinor = commission === undefined ? 0n : percentOf(250_000n, commission);
 */
export async function commissionPlans(
  on: EntityManager,
  lenderIds: readonly string[],
): Promise<ReadonlyMap<string, Percent>> {
  if (lenderIds.length === 0) return new Map();
  const rows = await query<{ id: string; commission: Percent }>(on, commissions, [[...new Set(lenderIds)]]);
  return new Map(rows.map(({ id, commission }) => [id, commission]));
}
