import type { EntityManager } from "./entity-manager.ts";
import { databaseOf } from "./open-database.ts";
import { openClient, stateIn, type TxClient } from "./open-transaction.ts";
import { ANSWER_TIMEOUT_MS } from "./pooler.ts";

/**
 * The queries that ask whether Citus's catalog exists, and then whether it lists a distributed table. The queries are
 * separate, because PostgreSQL can parse the second query only if the catalog exists.
 */
export const DISTRIBUTION_QUERIES: readonly string[] = [
  "select to_regclass('pg_dist_partition') is not null as exists",
  "select exists (select from pg_dist_partition where partmethod = 'h') as exists",
];

/**
 * Returns whether `distribute` has distributed tables of this database over several nodes. If so, a statement may lock
 * or change the rows of only one lender.
 *
 * The answer is read from the catalog once for each `Database`, at the latest by its first transaction, and cached
 * until the `Database` is closed. So the processes have to be restarted after `distribute`.
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
 * Returns the cached answer of `isDistributed`, without a query. Before the first transaction it is false. Inside a
 * transaction it is always known. Use it to choose between two texts of one query.
 *
 * @example
 * console.log(isOnCluster(tx) ? "The rows of each lender are on one of several nodes." : "All rows are in one PostgreSQL.");
 */
export function isOnCluster(em: EntityManager): boolean {
  return databaseOf(em).distributed === true;
}

async function hasDistributedTables(target: Pick<TxClient, "query">): Promise<boolean> {
  for (const text of DISTRIBUTION_QUERIES) {
    const config = { text, query_timeout: ANSWER_TIMEOUT_MS };
    const { rows } = await target.query(config);
    if (!(rows[0] as { exists: boolean }).exists) return false;
  }
  return true;
}
