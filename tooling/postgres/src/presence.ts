import { Client } from "pg";
import type { ownTls } from "./server.ts";

/**
 * The key of an advisory lock. Users of the server hold it shared; the process that stops the server holds it
 * exclusively. The numbers are arbitrary.
 */
const PRESENCE_LOCK = "1130980204, 1";

/**
 * One process's use of a server. It is an advisory lock of a connection, so it ends with the connection, even after a
 * kill.
 */
export interface Presence {
  /** Resolves when the connection is closed, also by `leave`. */
  ended: Promise<void>;
  /**
   * Releases this process's use of the server. Returns true if this process was the last user. No other process can
   * then start to use the server until the server has stopped.
   */
  leave(): Promise<boolean>;
}

/** Starts to use a server; undefined if the server does not accept connections. */
export async function enter(url: string, ssl: ReturnType<typeof ownTls>): Promise<Presence | undefined> {
  const config = { connectionString: url, connectionTimeoutMillis: 5_000, application_name: "presence", ssl };
  const client = new Client(config);
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
 * Ends this process's use of the server, and returns whether it was the last user. Releases the shared lock before it
 * tries the exclusive lock: if two users leave at the same time, the later one gets the exclusive lock and is the last
 * user.
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
