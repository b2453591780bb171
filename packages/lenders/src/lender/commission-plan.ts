import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { Percent } from "@collections/money";

const commissions = statement(
  "lenders.commission-plans",
  `select id, commission from lenders.lender where id = any ($1::uuid[])`,
);

/**
 * Returns the commission percentage of each lender, read by one prepared query. Ids without a lender are not in the
 * map.
 *
 * @example
 * const plans = await commissionPlans(em, [lenderId]);
 * const commission = plans.get(lenderId);
 * const earnedMinor = commission === undefined ? 0n : percentOf(250_000n, commission);
 */
export async function commissionPlans(
  em: EntityManager,
  lenderIds: readonly string[],
): Promise<ReadonlyMap<string, Percent>> {
  if (lenderIds.length === 0) return new Map();
  const rows = await query<{ id: string; commission: Percent }>(em, commissions, [[...new Set(lenderIds)]]);
  return new Map(rows.map(({ id, commission }) => [id, commission]));
}
