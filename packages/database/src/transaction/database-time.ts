import type { EntityManager } from "./entity-manager.ts";
import { statement } from "../sql/statement.ts";
import { query } from "./transaction.ts";

/**
 * Returns the time of PostgreSQL's clock. Use it for times that one process writes and another compares, because the
 * clocks of processes differ. The time advances within a transaction: after a wait for a lock it is later than the time
 * of the transaction that held the lock.
 *
 * @example
 * const claimedUntil = new Date((await databaseTime(em)).getTime() + 60_000);
 */
export async function databaseTime(em: EntityManager): Promise<Date> {
  const [row] = await query<{ now: Date }>(em, selectNow, []);
  return row!.now;
}

const selectNow = statement("database.now", "select clock_timestamp() as now");
