import type { EntityManager } from "@mikro-orm/postgresql";
import { databaseOf } from "./open-database.ts";
import { query } from "./transaction.ts";
import { statement } from "./statement.ts";

const catalogOfCitus = statement(
  "database.catalog-of-citus",
  "select to_regclass('pg_dist_partition') is not null as exists",
);
const distributedTables = statement(
  "database.distributed-tables",
  "select count(*) as count from pg_dist_partition where partmethod = 'h'",
);

/**
 * Whether this database keeps tables on several nodes, as `distribute` has declared them to Citus: then one statement
 * may lock or change rows of one lender only.
 *
 * The catalog is asked once for each `Database`, and the answer is kept until that is closed. Ask at the start of a
 * process: from then on a transaction on several nodes waits for every answer before its COMMIT.
 *
 * @example
 * const isOnCluster = await isDistributed(database.em());
 */
export async function isDistributed(em: EntityManager): Promise<boolean> {
  const database = databaseOf(em);
  database.distributed ??= await hasDistributedTables(em);
  return database.distributed;
}

async function hasDistributedTables(em: EntityManager): Promise<boolean> {
  const [catalog] = await query<{ exists: boolean }>(em, catalogOfCitus, []);
  if (!catalog!.exists) return false;
  const [tables] = await query<{ count: bigint }>(em, distributedTables, []);
  return tables!.count > 0n;
}
