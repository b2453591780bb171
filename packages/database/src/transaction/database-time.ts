import type { EntityManager } from "@mikro-orm/postgresql";
import { statement } from "../sql/statement.ts";
import { query } from "./transaction.ts";

/**
 * What PostgreSQL's clock says: for moments that one process writes and another judges, whatever their own clocks say. It
 * moves on within a transaction: what had to wait for a lock is dated when it has it, behind what it waited for.
 *
 * @example
 * const claimedUntil = new Date((await databaseTime(em)).getTime() + 60_000);
 */
export async function databaseTime(em: EntityManager): Promise<Date> {
  const [row] = await query<{ now: Date }>(em, selectNow, []);
  return row!.now;
}

const selectNow = statement("database.now", "select clock_timestamp() as now");
