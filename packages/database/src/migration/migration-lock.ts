import type { Client } from "pg";
import { newClient } from "../connection/server-client.ts";
import { AS_SESSION, connectSession, isPooled, SessionNeededError } from "../transaction/pooler.ts";
import { sqlState } from "../sql/sql-state.ts";

/** The key of the lock: "pcoll" as a number. It is the same in all versions of all packages that share a database. */
const MIGRATION_LOCK = 0x70636f6c6c;
/**
 * How long to wait before `onWait` is called. Processes that started at the same time have usually finished by then.
 */
const QUIET_WAIT_MS = 2_000;
const LOCK_NOT_AVAILABLE = "55P03";

/** Which database to lock, and a callback for a long wait. */
export interface MigrationLockOptions {
  /** The address of the database, and not the address of a transaction pooler. */
  url: string;
  /** Called once with a message for operators if another session has held the lock for two seconds. */
  onWait?: (message: string) => void;
}

/**
 * Runs `work` while no other process migrates or distributes this database. The session that is passed to `work` holds
 * the lock. The lock is released when the session ends.
 * @throws SessionNeededError, before anything is locked
 */
export async function withMigrationLock<T>(
  what: string,
  { url, onWait }: MigrationLockOptions,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  if (isPooled(url)) throw new SessionNeededError(what);
  const client = newClient(url, { application_name: "collections-migrate", ...AS_SESSION });
  try {
    await connectSession(client, what);
    if (!(await lockWithin(client, QUIET_WAIT_MS))) {
      onWait?.(await waitMessage(client));
      await lockWithin(client, 0);
    }
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Takes the lock, or returns false after `timeoutMs`. 0 means no limit. Afterwards `lock_timeout` has the session's
 * default again.
 */
async function lockWithin(client: Client, timeoutMs: number): Promise<boolean> {
  try {
    await client.query(
      `set lock_timeout = ${timeoutMs}; select pg_advisory_lock(${MIGRATION_LOCK}); reset lock_timeout`,
    );
    return true;
  } catch (error) {
    if (sqlState(error) === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

async function waitMessage(client: Client): Promise<string> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_locks where locktype = 'advisory' and granted and objsubid = 1
       and database = (select oid from pg_database where datname = current_database())
       and (classid::bigint << 32) + objid::bigint = $1`,
    [MIGRATION_LOCK],
  );
  const holder = rows[0] && ` by process ${rows[0].pid} of PostgreSQL`;
  const end = rows[0] && `, end it: select pg_terminate_backend(${rows[0].pid})`;
  return `Waiting for the migration lock, which is held${holder ?? " by another session"}. If no other process is migrating${end ?? ", look into pg_locks"}.`;
}
