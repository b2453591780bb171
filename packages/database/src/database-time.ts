import type { EntityManager } from "@mikro-orm/postgresql";
import { statement } from "./statement.ts";
import { query } from "./transaction.ts";

/**
 * What PostgreSQL's clock says: for moments that one process writes and another judges, whatever their own clocks say.
 *
 * @example
 * const claimedUntil = new Date((await databaseTime(em)).getTime() + 60_000);
 */
export async function databaseTime(em: EntityManager): Promise<Date> {
  const [row] = await query<{ now: Date }>(em, selectNow, []);
  return row!.now;
}

const selectNow = statement("database.now", "select now() as now");
