import { Client } from "pg";

/**
 * Users of the server hold it shared; the process that stops the server holds it exclusively. The numbers are
 * arbitrary.
 */
const PRESENCE_LOCK = "1130980204, 1";

/** The presence of one user on a server. The server keeps it, so it ends with the connection, even after a kill. */
export interface Presence {
  /** Resolves when the connection is closed, also by `leave`. */
  ended: Promise<void>;
  /** Ends the presence. Returns true if nobody else is present; then nobody can enter until the server is down. */
  leave(): Promise<boolean>;
}

/** Enters a server; undefined if it went down meanwhile. */
export async function enter(url: string): Promise<Presence | undefined> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000, application_name: "presence" });
  const ended = new Promise<void>((resolve) => {
    client.once("end", resolve);
  });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query(`select pg_advisory_lock_shared(${PRESENCE_LOCK})`);
  } catch {
    await client.end().catch(() => {});
    return undefined;
  }
  return { ended, leave: () => leave(client) };
}

/**
 * Releases the shared lock first. If two users leave at once, the later one then finds the lock free, so one is the
 * last.
 */
async function leave(client: Client): Promise<boolean> {
  try {
    await client.query(`select pg_advisory_unlock_shared(${PRESENCE_LOCK})`);
    const { rows } = await client.query<{ last: boolean }>(`select pg_try_advisory_lock(${PRESENCE_LOCK}) as last`);
    const last = rows[0]?.last ?? false;
    if (!last) await client.end();
    return last;
  } catch {
    return false;
  }
}
