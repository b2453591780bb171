import type { EntityManager } from "@mikro-orm/postgresql";
import { databaseOf } from "./open-database.ts";
import { openClient, stateIn, type TxClient } from "./open-transaction.ts";
import { ANSWER_TIMEOUT_MS } from "./pooler.ts";

/** PostgreSQL can parse the second query only if the first one returned true. */
export const LOOKS: readonly string[] = [
  "select to_regclass('pg_dist_partition') is not null as exists",
  "select exists (select from pg_dist_partition where partmethod = 'h') as exists",
];

/**
 * Whether this database keeps tables on several nodes, as `distribute` has declared them to Citus: then one statement
 * may lock or change rows of one lender only.
 *
 * The catalog is asked once for each `Database`, at the latest by its first transaction, and the answer is kept until that
 * is closed. Distributing therefore needs a restart of the processes.
 *
 * @example
 * const isOnCluster = await isDistributed(database.em());
 */
export async function isDistributed(em: EntityManager): Promise<boolean> {
  const database = databaseOf(em);
  const state = stateIn(em);
  database.distributed ??= await hasDistributedTables(state ? openClient(state) : database.pool);
  if (database.distributed) database.nodes?.start();
  return database.distributed;
}

/**
 * The kept answer of `isDistributed`, without a query. It is known inside every transaction; before the first one it is
 * false. Use it to choose between two texts of one query.
 *
 * @example
 * console.log(isOnCluster(tx) ? "The rows of each lender are on one of several nodes." : "All rows are in one PostgreSQL.");
 */
export function isOnCluster(em: EntityManager): boolean {
  return databaseOf(em).distributed === true;
}

async function hasDistributedTables(target: Pick<TxClient, "query">): Promise<boolean> {
  for (const text of LOOKS) {
    const look = { text, query_timeout: ANSWER_TIMEOUT_MS };
    const { rows } = await target.query(look);
    if (!(rows[0] as { exists: boolean }).exists) return false;
  }
  return true;
}
