import type { EntityManager } from "@mikro-orm/postgresql";
import { statement } from "./statement.ts";
import { query } from "./transaction.ts";

/** What PostgreSQL's clock says: for moments that one process writes and another judges, whatever their own clocks say. */
export async function databaseTime(em: EntityManager): Promise<Date> {
  const [row] = await query<{ now: Date }>(em, selectNow, []);
  return row!.now;
}

const selectNow = statement("database.now", "select now() as now");
