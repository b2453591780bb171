import type { EntityManager } from "./entity-manager.ts";
import type { LenderStatement } from "../sql/lender-statement.ts";
import type { Statement } from "../sql/statement.ts";
import { isOnCluster } from "./is-distributed.ts";

/**
 * Returns the statement to send, with its values: `ofOne` on a cluster, `ofMany` on plain PostgreSQL. `lenderIds` and the
 * array of each column have one element for each row. The values of `equal` columns follow.
 *
 * @example
 * const addInvoices = lenderInsert("billing.add-invoices", { table: "billing.invoice", columns: { id: "uuid" } });
 * send(tx, ...insertFor(tx, addInvoices, [invoices.map(({ lenderId }) => lenderId), invoices.map(({ id }) => id)]));
 */
export function insertFor(
  on: EntityManager,
  { ofOne, ofMany }: LenderStatement,
  [lenderIds, ...others]: readonly [lenderIds: readonly string[], ...others: unknown[]],
): [statement: Statement, values: unknown[]] {
  if (!isOnCluster(on)) return [ofMany, [lenderIds, ...others]];
  const [lenderId, another] = new Set(lenderIds);
  return another === undefined ? [ofOne, [lenderId, ...others]] : [ofMany, [lenderIds, ...others]];
}
