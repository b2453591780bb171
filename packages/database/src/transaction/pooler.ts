import { Client } from "pg";

/**
 * True where a transaction pooler is in between: `postgres://…?pgbouncer=true`. It hands each transaction to whichever
 * session is free, so statements go unnamed (the next session would not know the name), and transactions are told what
 * else a session is told once.
 *
 * @example
 * isPooled("postgres://billing@localhost:6432/billing?pgbouncer=true"); // true
 */
export function isPooled(url: string): boolean {
  return new URL(url).searchParams.get("pgbouncer") === "true";
}

/** What the server gives up by itself, by PostgreSQL's names. */
export const SERVER_TIMEOUTS_MS = {
  statement_timeout: 30_000,
  lock_timeout: 10_000,
  idle_in_transaction_session_timeout: 60_000,
} as const;

/** The client's own limit, for when the server no longer says anything: a little more than the server's. */
export const CLIENT_TIMEOUT_MS = 35_000;

/**
 * More than a statement of a request takes, its wait for a lock included. A connection that has gone silent (a failover,
 * a cut wire) is found out by this and by nothing else.
 */
export const ANSWER_TIMEOUT_MS = 12_000;

/** How long a statement waits for a connection of the pool, and a connection for its server. */
export const CONNECT_TIMEOUT_MS = 5_000;

/** The server's for one transaction. */
export const LOCAL_TIMEOUTS = Object.entries(SERVER_TIMEOUTS_MS).map(
  ([name, timeoutMs]) => `set local ${name} = ${timeoutMs}`,
);

/**
 * On a cluster a row is locked on its worker node, which does not know the coordinator's `lock_timeout`. Citus passes on no
 * setting of a session, and of a transaction only those that follow `citus.propagate_set_commands`.
 */
export const LOCK_TIMEOUT_ON_WORKERS = [
  "set local citus.propagate_set_commands = 'local'",
  `set local lock_timeout = ${SERVER_TIMEOUTS_MS.lock_timeout}`,
];

const REFUSED_BY_POOLER = "idle_in_transaction_session_timeout";

/** How a client connects that needs a session: by a setting at its start, which pgbouncer refuses. */
export const AS_SESSION = { [REFUSED_BY_POOLER]: SERVER_TIMEOUTS_MS[REFUSED_BY_POOLER] };

/**
 * Connects a client that was made with `AS_SESSION`, and makes sure that it has a session before it is used: what it
 * took or set in a pooler's session would stay there. A pooler told to ignore the setting is found out as well.
 * @throws SessionNeededError
 */
export async function connectSession(client: Client, what: string): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    if (error instanceof Error && error.message.includes("unsupported startup parameter")) {
      throw new SessionNeededError(what, { cause: error });
    }
    throw error;
  }
  const { rows } = await client.query<{ source: string }>("select source from pg_settings where name = $1", [
    REFUSED_BY_POOLER,
  ]);
  if (rows[0]?.source !== "client") throw new SessionNeededError(what);
}

/**
 * Whether an address leads to a transaction pooler and does not say so. It is tried with a connection.
 *
 * @example
 * if (await isUnmarkedPooler(url)) throw new Error("DATABASE_URL leads to a pooler: add pgbouncer=true to it.");
 */
export async function isUnmarkedPooler(url: string): Promise<boolean> {
  if (isPooled(url)) return false;
  const client = new Client({ connectionString: url, ...AS_SESSION });
  client.on("error", () => {});
  try {
    await connectSession(client, "A trial");
    return false;
  } catch (error) {
    if (error instanceof SessionNeededError) return true;
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Something that needs a session of its own was given an address that leads to a transaction pooler.
 *
 * @example
 * await migrate({ url, schemas: [billingSchema] }).catch((error: unknown) => {
 *   if (error instanceof SessionNeededError) console.error(`MIGRATION_URL: ${error.message}`);
 *   throw error;
 * });
 */
export class SessionNeededError extends Error {
  override readonly name = "SessionNeededError";
  readonly code = "SESSION_NEEDED";

  constructor(what: string, options?: ErrorOptions) {
    super(`${what} needs a session of its own: give it an address that leads past the pooler.`, options);
  }
}
