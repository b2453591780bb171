import { Client } from "pg";
import { AS_SESSION, connectSession, isPooled, SessionNeededError } from "../transaction/pooler.ts";
import { sqlState } from "../sql/sql-state.ts";

/** The same for every version of every package that shares a database: "pcoll" as a number. */
const MIGRATION_LOCK = 0x70636f6c6c;
/** Others that start at the same moment are done by then. */
const QUIET_WAIT_MS = 2_000;
const LOCK_NOT_AVAILABLE = "55P03";

/** Which database, and who is told when it is somebody else's turn. */
export interface MigrationLockOptions {
  /** A session of its own: not through a transaction pooler. */
  url: string;
  /** Told once, in a sentence for operators, when another session has had the lock for a while. */
  onWait?: (message: string) => void;
}

/**
 * Does the work while no other process migrates or distributes this database. The lock belongs to the session that the
 * work is given, and goes with it.
 * @throws SessionNeededError, before anything is locked
 */
export async function withMigrationLock<T>(
  what: string,
  { url, onWait }: MigrationLockOptions,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  if (isPooled(url)) throw new SessionNeededError(what);
  const client = new Client({ connectionString: url, application_name: "collections-migrate", ...AS_SESSION });
  try {
    await connectSession(client, what);
    if (!(await lockWithin(client, QUIET_WAIT_MS))) {
      onWait?.(await whoIsAwaited(client));
      await lockWithin(client, 0);
    }
    return await work(client);
  } finally {
    await client.end();
  }
}

/** In one message, which leaves the session's own limit as it was. 0 waits for as long as it takes. */
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

async function whoIsAwaited(client: Client): Promise<string> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_locks where locktype = 'advisory' and granted and objsubid = 1
       and database = (select oid from pg_database where datname = current_database())
       and (classid::bigint << 32) + objid::bigint = $1`,
    [MIGRATION_LOCK],
  );
  const holder = rows[0] && ` by process ${rows[0].pid} of PostgreSQL`;
  const end = rows[0] && `, end it: select pg_terminate_backend(${rows[0].pid})`;
  return `Waiting for the lock of migrations, held${holder ?? ""}. If no other process of ours migrates${end ?? ", look into pg_locks"}.`;
}
