import { Client } from "pg";

/** Taken shared by everybody who uses the server, exclusively by whoever stops it. The numbers mean nothing. */
const PRESENCE_LOCK = "1130980204, 1";

/** One user's presence on a server, kept by the server itself: it ends with the connection, whatever kills it. */
export interface Presence {
  /** Resolves when the connection is gone, be it by `leave`. */
  ended: Promise<void>;
  /** Gives up the presence; true when nobody else is present, and then nobody can enter until the server is down. */
  leave(): Promise<boolean>;
}

/** Enters a server; undefined when it went down meanwhile. */
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

/** Shared is given up first: of two that leave at once the later then finds the lock free, so one of them is last. */
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
