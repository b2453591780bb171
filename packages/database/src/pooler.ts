/**
 * True where a transaction pooler is in between: `postgres://…?pgbouncer=true`. It hands each transaction to whichever
 * session is free, so statements go unnamed (the next session would not know the name), and transactions are told what
 * else a session is told once.
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

/** The same for one transaction; it travels in one message with its BEGIN. */
export const LOCAL_TIMEOUTS = Object.entries(SERVER_TIMEOUTS_MS)
  .map(([name, timeoutMs]) => `; set local ${name} = ${timeoutMs}`)
  .join("");

/** For what needs a session of its own. */
export class SessionNeededError extends Error {
  override readonly name = "SessionNeededError";
  readonly code = "SESSION_NEEDED";

  constructor(what: string) {
    super(`${what} needs a session of its own: give it an address that leads past the pooler, without pgbouncer=true.`);
  }
}
