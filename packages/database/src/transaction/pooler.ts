import type { Client } from "pg";
import { splitUrl } from "../connection/connection-url.ts";
import { newClient } from "../connection/server-client.ts";

/**
 * Returns whether an address is marked as that of a transaction pooler: `postgres://…?pgbouncer=true`. The pooler gives
 * each transaction any free session. So statements are sent without names, because the next session would not know the
 * prepared statement, and each transaction sets its own time limits.
 *
 * @example
 * isPooled("postgres://billing@localhost:6432/billing?pgbouncer=true"); // true
 */
export function isPooled(url: string): boolean {
  return splitUrl(url)?.parameters.get("pgbouncer") === "true";
}

/** The time limits of the server, by PostgreSQL's names. */
export const SERVER_TIMEOUTS_MS = {
  statement_timeout: 30_000,
  lock_timeout: 10_000,
  idle_in_transaction_session_timeout: 60_000,
} as const;

/** The client's time limit for a server that no longer answers. It is a little longer than the server's own limit. */
export const CLIENT_TIMEOUT_MS = 35_000;

/**
 * The default of `answerTimeoutMs`, the time limit for the answer to a statement. It is longer than a statement of a request takes, including the wait for a
 * lock. It is the only way to detect a connection that no longer answers, as after a failover or a broken network.
 */
export const ANSWER_TIMEOUT_MS = 12_000;

/** Statements that set the server's time limits for one transaction. */
export const LOCAL_TIMEOUTS = Object.entries(SERVER_TIMEOUTS_MS).map(
  ([name, timeoutMs]) => `set local ${name} = ${timeoutMs}`,
);

/**
 * Statements that set `lock_timeout` on worker nodes for one transaction. On a cluster a row is locked on its worker
 * node, which does not know the coordinator's `lock_timeout`. Citus never passes session settings on to workers. It
 * passes a transaction's settings on only if they are set after `citus.propagate_set_commands`.
 */
export const LOCK_TIMEOUT_ON_WORKERS = [
  "set local citus.propagate_set_commands = 'local'",
  `set local lock_timeout = ${SERVER_TIMEOUTS_MS.lock_timeout}`,
];

const REFUSED_BY_POOLER = "idle_in_transaction_session_timeout";

/** Options for a client that needs its own session. They contain a setting that pgbouncer rejects when the client connects. */
export const AS_SESSION = { [REFUSED_BY_POOLER]: SERVER_TIMEOUTS_MS[REFUSED_BY_POOLER] };

/**
 * Connects a client that was made with `AS_SESSION`, and checks that it has its own session. In a pooler's session, the
 * client's locks and settings would remain after the client has disconnected. The check also detects a pooler that is
 * configured to ignore the setting.
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
 * Returns whether an address without `pgbouncer=true` leads to a transaction pooler. Opens a connection to find out.
 *
 * @example
 * if (await isUnmarkedPooler(url)) throw new Error("DATABASE_URL leads to a pooler: add pgbouncer=true to it.");
 */
export async function isUnmarkedPooler(url: string): Promise<boolean> {
  if (isPooled(url)) return false;
  const client = newClient(url, AS_SESSION);
  client.on("error", () => {});
  try {
    await connectSession(client, "This check");
    return false;
  } catch (error) {
    if (error instanceof SessionNeededError) return true;
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Something that needs its own session, such as a migration, was given the address of a transaction pooler.
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
    super(`${what} needs its own session: use the address of PostgreSQL instead of the pooler's.`, options);
  }
}
