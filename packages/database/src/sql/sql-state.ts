/**
 * The connection was lost after a COMMIT was sent and before its answer arrived. The transaction may be committed or not.
 * The caller has to read its rows again, or let its client repeat an idempotent request.
 *
 * @example
 * await transaction(em, async (tx) => send(tx, insertInvoice, [invoiceId, 250000n])).catch(async (error: unknown) => {
 *   if (!(error instanceof CommitOutcomeUnknownError)) throw error;
 *   const [invoice] = await query(em, invoiceById, [invoiceId]);
 *   if (invoice === undefined) throw error; // not committed: the client repeats its request
 * });
 */
export class CommitOutcomeUnknownError extends Error {
  override readonly name = "CommitOutcomeUnknownError";
  readonly code = "COMMIT_OUTCOME_UNKNOWN";
}

/**
 * The cluster node with the lender's rows does not answer. The statement was not sent, or its connection was closed. The
 * same work succeeds once the node is back.
 *
 * @example
 * const invoices = await query(em, invoiceById, [invoiceId]).catch((error: unknown) => {
 *   if (error instanceof NodeAwayError) console.error(`503: ${error.message}`);
 *   throw error;
 * });
 */
export class NodeAwayError extends Error {
  override readonly name = "NodeAwayError";
  readonly code = "NODE_AWAY";

  constructor() {
    super("The cluster node with the rows of this request does not answer: try again in a moment.");
  }
}

/**
 * An SQLSTATE: five characters, at least one of them a digit. The digit excludes EPIPE, an error code of the operating
 * system.
 */
const SQL_STATE = /^(?=.*\d)[0-9A-Z]{5}$/;

const UNIQUE_VIOLATION = "23505";

/**
 * SQLSTATEs of temporary errors: connection, resources, operator intervention, time limits of locks and statements. 08P01
 * (protocol violation) is a connection error too, but it is a bug of ours, which a retry would repeat, unless a pooler
 * sends it: see `isOfPooler`.
 */
const UNAVAILABLE_STATES = /^((?!08P01)08...|53...|57P0[1-5]|57014|55P03|40001|40P01|25P0[34]|25006|XX000)$/;

/**
 * Error codes of the operating system, and codes of errors of this package. MikroORM wraps a NodeAwayError in another
 * error with the same code.
 */
const UNAVAILABLE_CODES = new Set([
  "NODE_AWAY",
  "DATABASE_TLS",
  "NO_USABLE_HOST",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOENT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);

/**
 * Errors of connection, operator intervention and cancellation. On a cluster, a COMMIT fails with such an error if the
 * node with the rows did not answer. That node may have committed. XX000 is the code of "could not commit transaction
 * for shard …", 58000 that of PgCat.
 */
const COMMIT_MAY_HAVE_HAPPENED = /^(08...|57P0[1-5]|57014|58000|XX000)$/;

/**
 * SQLSTATEs that poolers send with the severity FATAL when they have no session for a client: pgbouncer 08P01, PgCat
 * 58000. PostgreSQL itself sends 08P01 for a statement with the severity ERROR.
 */
const POOLER_STATES = new Set(["08P01", "58000"]);

/** Messages of POOLER_STATES that a later try gets again, until somebody changes the configuration. */
const REJECTED_BY_POOLER =
  /unsupported startup parameter|no such (database|user)|SSL required|not allowed|authentication failed|auth failed/i;

/** Messages of poolers that have other SQLSTATEs, or none: RDS Proxy and Odyssey. */
const POOLER_MESSAGES = /Timed-out waiting to acquire database connection|failed to get remote server connection/i;

/** Messages of `pg` errors without a code. */
const UNAVAILABLE_MESSAGES =
  /timeout exceeded when trying to connect|timeout expired|There was an error establishing an SSL connection|Query read timeout|Connection terminated|connection error and is not queryable|Client was closed|Cannot use a pool after calling end/;

/**
 * Returns the SQLSTATE of an error or of one of its causes, or undefined if none of them is an error of PostgreSQL.
 *
 * @example
 * await transaction(em, async (tx) => send(tx, insertInvoice, [invoiceId, -1n])).catch((error: unknown) => {
 *   if (sqlState(error) === "23514") throw new RangeError("The amount is below what the table allows.");
 *   throw error;
 * });
 */
export function sqlState(error: unknown): string | undefined {
  for (const link of causes(error)) {
    if (typeof link.code === "string" && SQL_STATE.test(link.code)) return link.code;
  }
  return undefined;
}

/**
 * Returns true for a violated unique key. Another transaction wrote the row first, so read the row again.
 *
 * @example
 * await transaction(em, async (tx) => send(tx, insertInvoice, [invoiceId, 250000n])).catch((error: unknown) => {
 *   if (!isUniqueViolation(error)) throw error; // otherwise the invoice exists already
 * });
 */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION;
}

/**
 * Returns true if the database was temporarily unavailable. The same work may succeed a moment later.
 *
 * @example
 * const invoices = await query(em, invoiceById, [invoiceId]).catch((error: unknown) => {
 *   if (isUnavailable(error)) throw new Error("503: the same request may succeed in a moment.", { cause: error });
 *   throw error;
 * });
 */
export function isUnavailable(error: unknown): boolean {
  for (const link of causes(error)) {
    if (link instanceof CommitOutcomeUnknownError) return true;
    if (typeof link.code === "string" && (UNAVAILABLE_STATES.test(link.code) || UNAVAILABLE_CODES.has(link.code))) {
      return true;
    }
    if (UNAVAILABLE_MESSAGES.test(link.message) || isOfPooler(link)) return true;
  }
  return false;
}

/** Whether a pooler had no session for this client. */
function isOfPooler({ code, severity, message }: Link): boolean {
  if (POOLER_MESSAGES.test(message)) return true;
  const isFatal = severity === "FATAL" && typeof code === "string" && POOLER_STATES.has(code);
  return isFatal && !REJECTED_BY_POOLER.test(message);
}

/** Whether a transaction may be committed although its COMMIT failed with this error. */
export function isCommitOutcomeUnknown(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined || COMMIT_MAY_HAVE_HAPPENED.test(state);
}

type Link = Error & { readonly code?: unknown; readonly severity?: unknown };

function causes(error: unknown): Link[] {
  const chain: Link[] = [];
  let link = error;
  while (link instanceof Error && chain.length < 5) {
    chain.push(link);
    link = link instanceof AggregateError ? link.errors[0] : link.cause;
  }
  return chain;
}
