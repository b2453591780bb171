import type { EntityManager } from "./entity-manager.ts";
import { databaseOf } from "./open-database.ts";
import { isUnavailable } from "../sql/sql-state.ts";

/**
 * Processes the items one after another. If an item fails, the function continues with the next item, and throws all
 * failures at the end as one AggregateError. On plain PostgreSQL the function stops at the first item for which the
 * database is unavailable, because each later item would only wait for its own time limit.
 *
 * @example
 * await oneAfterAnother(em, invoices, async ({ lenderId, id }) => {
 *   await transaction(em, async (tx) => send(tx, payInvoice, [lenderId, id]));
 * });
 */
export async function oneAfterAnother<Item>(
  em: EntityManager,
  items: Iterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  let count = 0;
  for (const item of items) {
    count += 1;
    try {
      await work(item);
    } catch (error) {
      errors.push(error);
      if (isUnavailable(error) && databaseOf(em).distributed !== true) break;
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} of ${count} items failed.`);
}
