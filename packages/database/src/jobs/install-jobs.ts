import type { Client, Pool } from "pg";
import type { Reader } from "../transaction/host-client.ts";
import type { Queue } from "../queue.ts";
import { sqlState } from "../sql/sql-state.ts";
import { JOB_COMMIT_TABLE } from "./job-commit-table.ts";

/**
 * The version of pg-boss's tables that the installed pg-boss makes. It stands here so that a process can compare it with
 * the database without loading pg-boss, which takes longer than a whole command. A test compares it with pg-boss.
 */
export const PG_BOSS_SCHEMA = 43;

/** SQLSTATEs of a missing table or schema, a missing column, and a missing privilege. */
const NOT_READABLE = new Set(["42P01", "3F000", "42703", "42501"]);

/**
 * Returns whether `installJobs` has nothing to do: the tables of pg-boss and JOB_COMMIT_TABLE exist in this version or
 * a later one, and each queue has its options. Call it outside a transaction, because its query may fail, and a failed
 * query makes a transaction unusable.
 */
export async function hasJobs(client: Client, queues: readonly Queue[]): Promise<boolean> {
  try {
    const { rows } = await client.query<{
      hasTable: boolean;
      version: number;
      queues: Record<string, QueueRow> | null;
    }>(
      `select to_regclass($1) is not null as "hasTable",
         (select max(version)::int from pgboss.version) as version,
         (select json_object_agg(name, json_build_object(
            'retryLimit', retry_limit, 'retryDelay', retry_delay, 'retryBackoff', retry_backoff,
            'retryDelayMax', retry_delay_max, 'expireInSeconds', expire_seconds, 'deleteAfterSeconds', deletion_seconds))
          from pgboss.queue) as queues`,
      [JOB_COMMIT_TABLE],
    );
    const { hasTable, version, queues: installed } = rows[0]!;
    return (
      hasTable && version >= PG_BOSS_SCHEMA && queues.every((queue) => isInstalled(queue, installed?.[queue.name]))
    );
  } catch (error) {
    if (NOT_READABLE.has(sqlState(error) ?? "")) return false;
    throw error;
  }
}

type QueueRow = Readonly<Record<string, unknown>>;

function isInstalled(queue: Queue, row: QueueRow | undefined): boolean {
  return row !== undefined && Object.entries(settingsOf(queue)).every(([name, value]) => row[name] === value);
}

/** Returns the settings of a queue as pg-boss takes them. */
function settingsOf({ options }: Queue) {
  return { ...options, retryBackoff: options.retryDelay !== undefined };
}

/** Creates or updates the tables of pg-boss, the queues and JOB_COMMIT_TABLE. The caller has to hold the migration lock. */
export async function installJobs(pool: Pool, queues: readonly Queue[]): Promise<void> {
  await makeJobCommitTable(pool);
  const db = { executeSql: (text: string, values?: unknown[]) => pool.query(text, values) };
  const { PgBoss } = await import("pg-boss");
  const boss = new PgBoss({ db, supervise: false, schedule: false });
  boss.on("error", () => {});
  await boss.start();
  try {
    for (const queue of queues) {
      const { name } = queue;
      const settings = settingsOf(queue);
      if (await boss.getQueue(name)) await boss.updateQueue(name, settings);
      else await boss.createQueue(name, settings);
    }
  } finally {
    await boss.stop({ graceful: false });
  }
}

/**
 * Creates JOB_COMMIT_TABLE if it does not exist. Looks for it first, because `create table if not exists` needs the
 * right to create tables even if the table exists.
 */
async function makeJobCommitTable(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ exists: boolean }>("select to_regclass($1) is not null as exists", [
    JOB_COMMIT_TABLE,
  ]);
  if (!rows[0]!.exists) await pool.query(`create table ${JOB_COMMIT_TABLE} (id smallint, check (false))`);
}

/** Lists what is missing or outdated among the tables of pg-boss, the queues and JOB_COMMIT_TABLE. */
export async function missingJobs(client: Reader, queues: readonly Queue[]): Promise<string[]> {
  const { rows } = await client.query<{ exists: boolean }>("select to_regclass($1) is not null as exists", [
    JOB_COMMIT_TABLE,
  ]);
  if (!rows[0]!.exists) return [`table ${JOB_COMMIT_TABLE}`];
  const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) };
  const { PgBoss } = await import("pg-boss");
  const boss = new PgBoss({ db, migrate: false, createSchema: false, supervise: false, schedule: false });
  boss.on("error", () => {});
  try {
    await boss.start();
  } catch (error) {
    // pg-boss has no error codes. Its messages are "pg-boss is not installed" and "pg-boss database requires migrations".
    if (error instanceof Error && error.message.startsWith("pg-boss ")) return ["pg-boss"];
    throw error;
  }
  try {
    const installed = new Set((await boss.getQueues()).map(({ name }) => name));
    return queues.filter(({ name }) => !installed.has(name)).map(({ name }) => `queue ${name}`);
  } finally {
    await boss.stop({ graceful: false });
  }
}
