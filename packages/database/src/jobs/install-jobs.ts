import type { Client } from "pg";
import type { Reader } from "../transaction/host-client.ts";
import type { Queue } from "../queue.ts";
import { sqlState } from "../sql/sql-state.ts";
import { newBoss } from "../boss.ts";
import { PG_BOSS_SCHEMA } from "./boss-schema.ts";
import { JOB_COMMIT_TABLE } from "./job-commit-table.ts";

/** SQLSTATEs of a missing table or schema, a missing column, and a missing privilege. */
const NOT_READABLE = new Set(["42P01", "3F000", "42703", "42501"]);

/**
 * Returns whether `installJobs` has nothing to do: the tables of pg-boss and JOB_COMMIT_TABLE exist in this version, and
 * each queue has its options. In tables of a later version, the queues may have that version's options. Call it outside a transaction, because its query may fail, and a failed
 * query makes a transaction unusable.
 */
export async function hasJobs(client: Client, queues: readonly Queue[], jobsSchema: string): Promise<boolean> {
  try {
    const { rows } = await client.query<{
      hasTable: boolean;
      version: number;
      queues: Record<string, QueueRow> | null;
    }>(
      `select to_regclass($1) is not null as "hasTable",
         (select max(version)::int from ${jobsSchema}.version) as version,
         (select json_object_agg(name, json_build_object(
            'retryLimit', retry_limit, 'retryDelay', retry_delay, 'retryBackoff', retry_backoff,
            'retryDelayMax', retry_delay_max, 'expireInSeconds', expire_seconds, 'deleteAfterSeconds', deletion_seconds))
          from ${jobsSchema}.queue) as queues`,
      [JOB_COMMIT_TABLE],
    );
    const { hasTable, version, queues: installed } = rows[0]!;
    if (!hasTable || version < PG_BOSS_SCHEMA) return false;
    const isNewer = version > PG_BOSS_SCHEMA;
    return queues.every((queue) => {
      const row = installed?.[queue.name];
      return row !== undefined && (isNewer || isInstalled(queue, row));
    });
  } catch (error) {
    if (!NOT_READABLE.has(sqlState(error) ?? "")) throw error;
    // A later version may have renamed a column.
    if ((await newerBoss(client, jobsSchema)) === undefined) return false;
    return (await missingJobs(client, queues, jobsSchema)).length === 0;
  }
}

type QueueRow = Readonly<Record<string, unknown>>;

function isInstalled(queue: Queue, row: QueueRow): boolean {
  return Object.entries(settingsOf(queue)).every(([name, value]) => row[name] === value);
}

/** Returns the settings of a queue as pg-boss takes them. */
function settingsOf({ options }: Queue) {
  return { ...options, retryBackoff: options.retryDelay !== undefined };
}

/**
 * Creates or updates the tables of pg-boss, the queues and JOB_COMMIT_TABLE. If a later version has made the tables, only
 * creates missing queues. The caller has to hold the migration lock.
 */
export async function installJobs(client: Reader, queues: readonly Queue[], jobsSchema: string): Promise<void> {
  await makeJobCommitTable(client);
  const isNewer = (await newerBoss(client, jobsSchema)) !== undefined;
  const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) };
  const boss = await newBoss({ db, schema: jobsSchema, supervise: false, schedule: false });
  boss.on("error", () => {});
  await boss.start();
  try {
    for (const queue of queues) {
      const { name } = queue;
      const settings = settingsOf(queue);
      if (await boss.getQueue(name)) {
        if (!isNewer) await boss.updateQueue(name, settings);
      } else await boss.createQueue(name, settings);
    }
  } finally {
    await boss.stop({ graceful: false });
  }
}

/**
 * Creates JOB_COMMIT_TABLE if it does not exist. Looks for it first, because `create table if not exists` needs the
 * right to create tables even if the table exists.
 */
async function makeJobCommitTable(client: Reader): Promise<void> {
  const { rows } = await client.query<{ exists: boolean }>("select to_regclass($1) is not null as exists", [
    JOB_COMMIT_TABLE,
  ]);
  if (!rows[0]!.exists) await client.query(`create table ${JOB_COMMIT_TABLE} (id smallint, check (false))`);
}

/** Lists what is missing or outdated among the tables of pg-boss, the queues and JOB_COMMIT_TABLE. */
export async function missingJobs(client: Reader, queues: readonly Queue[], jobsSchema: string): Promise<string[]> {
  const { rows } = await client.query<{ exists: boolean }>("select to_regclass($1) is not null as exists", [
    JOB_COMMIT_TABLE,
  ]);
  if (!rows[0]!.exists) return [`table ${JOB_COMMIT_TABLE}`];
  const { rows: tables } = await client.query<{ exist: boolean }>("select to_regclass($1) is not null as exist", [
    `${jobsSchema}.version`,
  ]);
  if (!tables[0]!.exist || (await bossVersion(client, jobsSchema)) < PG_BOSS_SCHEMA) {
    return [`pg-boss in the schema ${jobsSchema}`];
  }
  const { rows: installed } = await client.query<{ name: string }>(`select name from ${jobsSchema}.queue`);
  const names = new Set(installed.map(({ name }) => name));
  return queues.filter(({ name }) => !names.has(name)).map(({ name }) => `queue ${name}`);
}

/**
 * Returns the version of pg-boss's tables if a later version of this software has made them; otherwise undefined. Call it
 * outside a transaction, because its query may fail.
 */
export async function newerBoss(client: Reader, jobsSchema: string): Promise<number | undefined> {
  try {
    const version = await bossVersion(client, jobsSchema);
    return version > PG_BOSS_SCHEMA ? version : undefined;
  } catch (error) {
    if (NOT_READABLE.has(sqlState(error) ?? "")) return undefined;
    throw error;
  }
}

async function bossVersion(client: Reader, jobsSchema: string): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    `select coalesce(max(version), 0)::int as version from ${jobsSchema}.version`,
  );
  return rows[0]!.version;
}
