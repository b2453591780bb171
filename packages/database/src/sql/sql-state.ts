/**
 * The connection was lost while a COMMIT was on its way: the transaction may have happened or not.
 * The caller reads its rows again, or lets its client repeat an idempotent request.
 *
 * @example
 * await transaction(em, async (tx) => send(tx, insertInvoice, [invoiceId, 250000n])).catch(async (error: unknown) => {
 *   if (!(error instanceof CommitOutcomeUnknownError)) throw error;
 *   const [invoice] = await query(em, invoiceById, [invoiceId]);
 *   if (invoice === undefined) throw error; // it did not happen: the client repeats its request
 * });
 */
export class CommitOutcomeUnknownError extends Error {
  override readonly name = "CommitOutcomeUnknownError";
  readonly code = "COMMIT_OUTCOME_UNKNOWN";
}

/**
 * The node of a cluster that has the lender's rows does not answer. Nothing was sent, or its answer is given up. The same
 * work succeeds once the node is back.
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
    super("A node of the cluster that has rows of this request does not answer: try again in a moment.");
  }
}

/** Each has a digit: EPIPE, which looks like one, is an errno. */
const SQL_STATE = /^(?=.*\d)[0-9A-Z]{5}$/;

const UNIQUE_VIOLATION = "23505";

/**
 * Classes of SQLSTATE that say "not now": connection, resources, operator intervention, lock and statement time-outs.
 * 08P01 is of the first class and yet a bug: we have sent what the protocol does not allow, and would send it again.
 */
const UNAVAILABLE_STATES = /^((?!08P01)08...|53...|57P0[1-5]|57014|55P03|40001|40P01|25P0[34]|25006|XX000)$/;

/** Of the operating system, and of NodeAwayError, which MikroORM wraps in an error that keeps the code. */
const UNAVAILABLE_CODES = new Set([
  "NODE_AWAY",
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
 * Connection, operator intervention and cancellation. On a cluster such an error of a COMMIT says that the node with the
 * rows has not answered: it may have committed. XX000 has "could not commit transaction for shard …".
 */
const COMMIT_MAY_HAVE_HAPPENED = /^(08...|57P0[1-5]|57014|XX000)$/;

/** Messages of `pg` for faults that carry no code. */
const UNAVAILABLE_MESSAGES =
  /timeout exceeded when trying to connect|Query read timeout|Connection terminated|connection error and is not queryable|Client was closed|Cannot use a pool after calling end/;

/**
 * The SQLSTATE of an error of PostgreSQL, looked for through its causes too.
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
 * True for a violated unique key: somebody wrote the row first, so read it again.
 *
 * @example
 * await transaction(em, async (tx) => send(tx, insertInvoice, [invoiceId, 250000n])).catch((error: unknown) => {
 *   if (!isUniqueViolation(error)) throw error; // else it is there already
 * });
 */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION;
}

/**
 * True when the database could not answer now: the same work may succeed a moment later.
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
    if (UNAVAILABLE_MESSAGES.test(link.message)) return true;
  }
  return false;
}

/** Whether a COMMIT that failed with this may have happened. */
export function isCommitOutcomeUnknown(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined || COMMIT_MAY_HAVE_HAPPENED.test(state);
}

function causes(error: unknown): (Error & { code?: unknown })[] {
  const chain: (Error & { code?: unknown })[] = [];
  let link = error;
  while (link instanceof Error && chain.length < 5) {
    chain.push(link);
    link = link instanceof AggregateError ? link.errors[0] : link.cause;
  }
  return chain;
}
