import type { EntityManager } from "./entity-manager.ts";
import { statement } from "../sql/statement.ts";
import { isDistributed } from "./is-distributed.ts";
import { databaseOf } from "./open-database.ts";
import { query } from "./transaction.ts";

/**
 * The greatest difference that is assumed between PostgreSQL's clock and the clock of a process. The process makes ids
 * with its own clock.
 */
const CLOCKS_DIFFER_MS = 5_000;

/**
 * `CLOCKS_DIFFER_MS` on a cluster, plus the time in which Citus completes a commit that lost its connection to a node:
 * `citus.recover_2pc_interval`, a minute. Until the commit is complete, the transaction has ended on the coordinator,
 * but its rows are not visible yet.
 */
const CLOCKS_DIFFER_ON_CLUSTER_MS = CLOCKS_DIFFER_MS + 70_000;

/**
 * Returns a time in the past. Every row whose id was made before this time is visible to the queries that start after
 * this function has returned, or it will never be visible. Call it before you read a page in the order of ids: a row of
 * a transaction that is still open may become visible later, with a lower id than the rows of the page. So a list that
 * continues after a page must not pass the first id of this time.
 *
 * `table` is a table with its schema. A transaction must lock or write a row of this table before it makes the ids of
 * the rows that it inserts. The inserted rows may be in other tables.
 *
 * @example
 * const end = firstIdAt(await visibleUntil(em, "billing.invoice"));
 * const page = statement("billing.invoice-page", "select id from billing.invoice where id > $1 order by id limit $2");
 * const invoices = await query<{ id: string }>(em, page, [BEFORE_ALL_IDS, 1_000]);
 * const passed = invoices.filter(({ id }) => id < end);
 */
export async function visibleUntil(em: EntityManager, table: string): Promise<Date> {
  const [row] = await query<{ oldest: Date }>(em, selectOldestWriter, [databaseOf(em).rename(table)]);
  const toleranceMs = (await isDistributed(em)) ? CLOCKS_DIFFER_ON_CLUSTER_MS : CLOCKS_DIFFER_MS;
  return new Date(row!.oldest.getTime() - toleranceMs);
}

// A transaction holds the table's lock until it has ended, and its rows are visible before it releases the lock. The
// start of a transaction is unknown in three cases: this role may not watch the role of the transaction's session,
// PostgreSQL does not track sessions, or the transaction is a prepared one. Such a transaction is assumed to be 15
// minutes old: no transaction of the service takes longer. The query does not read the locks and the sessions at the
// same moment. If a session that holds a lock is idle or has disappeared, its transaction has ended between the two
// reads.
const selectOldestWriter = statement(
  "database.oldest-writer",
  `select coalesce(min(case
     when a.xact_start is not null then a.xact_start
     when a.state = 'idle' or (l.pid is not null and a.pid is null) then null
     else now() - interval '15 minutes' end), now()) as "oldest"
   from pg_locks l left join pg_stat_activity a on a.pid = l.pid
   where l.locktype = 'relation' and l.relation = $1::regclass and l.granted
     and l.mode in ('RowShareLock', 'RowExclusiveLock')
     and l.database = (select oid from pg_database where datname = current_database())`,
);
