import type { EntityManager } from "./entity-manager.ts";
import type { PoolClient, QueryConfig, QueryResult } from "pg";
import { parameterOf } from "../sql/array-text.ts";
import { isDistributed } from "./is-distributed.ts";
import { databaseOf, type OpenDatabase } from "./open-database.ts";
import { causeOf, openClient, openTx, remember, stateIn, stateOf, type Tx, type TxState } from "./open-transaction.ts";
import { onBehalfOfAll, poolFor } from "./connection-shares.ts";
import { hostClient } from "./host-client.ts";
import { onMissingRows } from "../sql/missing-rows.ts";
import { oneByOne } from "./one-by-one.ts";
import { LOCAL_TIMEOUTS, LOCK_TIMEOUT_ON_WORKERS } from "./pooler.ts";
import { CommitOutcomeUnknownError, isCommitOutcomeUnknown, isUnavailable } from "../sql/sql-state.ts";
import { type ForeignStatement, type Statement, statementTypes } from "../sql/statement.ts";

export type { Tx } from "./open-transaction.ts";

/** Options of a query. */
export interface QueryOptions {
  /**
   * How long to wait for the answer before the connection is closed. Default: the option `answerTimeoutMs` of
   * `createDatabase`. Raise it for long background work.
   */
  readonly timeoutMs?: number;
}

/**
 * Runs `work` in one transaction (READ COMMITTED) on one connection and commits. The finds and flushes of MikroORM, the
 * pg-boss jobs and the prepared statements of `work` all belong to this transaction. If anything fails, it rolls back
 * and rethrows the error.
 *
 * @throws CommitOutcomeUnknownError if the connection, or on a cluster a connection between nodes, was lost after the
 * COMMIT was sent and before it was answered
 *
 * @example
 * await transaction(database.em(), async (tx) => {
 *   const [invoice] = await query<{ paid: boolean }>(tx, lockInvoice, [invoiceId]);
 *   if (invoice?.paid === false) send(tx, markPaid, [invoiceId]);
 * });
 */
export async function transaction<T, Em extends EntityManager>(em: Em, work: (tx: Tx<Em>) => Promise<T>): Promise<T> {
  return run(em, work, "begin");
}

/**
 * Runs reads in one read-only transaction that sees all tables as of the same moment (REPEATABLE READ), so that their
 * results are consistent with each other.
 *
 * @example
 * const [invoices, [total]] = await readSnapshot(em, async (tx) => [
 *   await query<{ amountMinor: bigint }>(tx, openInvoices, []),
 *   await query<{ totalMinor: bigint }>(tx, openTotal, []),
 * ]);
 */
export async function readSnapshot<T, Em extends EntityManager>(em: Em, work: (tx: Tx<Em>) => Promise<T>): Promise<T> {
  return run(em, work, "begin isolation level repeatable read read only");
}

async function run<T, Em extends EntityManager>(
  em: Em,
  work: (tx: Tx<Em>) => Promise<T>,
  beginText: string,
): Promise<T> {
  if (stateIn(em)) throw new Error("A transaction is already open: pass its Tx instead of opening another one.");
  const database = databaseOf(em);
  const { pool, isBorrowed, managers } = database;
  if (database.distributed === undefined) await isDistributed(em);
  const begin = beginOf(beginText, database).map((text) => ({ text, query_timeout: database.answerTimeoutMs }));
  const client = await poolFor(em, pool).connect();
  const tx = em.fork() as Tx<Em>;
  let state: TxState | undefined;
  let broken = false;
  const stopListening = onMissingRows(client, (error) => {
    if (state) state.failure ??= error;
  });
  try {
    state = await openTx(tx, isBorrowed ? oneByOne(hostClient(client)) : client, managers, begin);
    const result = await work(tx);
    await managers.flush(tx);
    if (database.distributed) await Promise.all(state.sent);
    // Do not commit after a statement with missing rows. PostgreSQL would commit, because for the server the statement
    // has succeeded.
    if (state.failure !== undefined) throw state.failure;
    await commit(state);
    return result;
  } catch (error) {
    broken = !(await rollBack(client, state));
    if (database.distributed && isUnavailable(error)) database.nodes?.suspect();
    throw causeOf(error, state);
  } finally {
    stopListening();
    if (state) state.open = false;
    client.release(broken);
    if (state && !broken) runAfterCommit(tx, state);
  }
}

/**
 * Returns the texts that begin a transaction: BEGIN and the settings of the transaction. Each text is sent as one
 * message. On a cluster, BEGIN is a separate message: Citus passes the whole text of a SET to the workers, and they
 * would log a warning for a BEGIN in it.
 */
function beginOf(beginText: string, { sharesSessions, distributed }: OpenDatabase): string[] {
  const timeouts = sharesSessions ? LOCAL_TIMEOUTS : [];
  if (!distributed) return [[beginText, ...timeouts].join("; ")];
  return [beginText, [...timeouts, ...LOCK_TIMEOUT_ON_WORKERS].join("; ")];
}

/**
 * Sends a prepared statement and returns its rows. With a `Tx` it runs in that transaction, with a plain EntityManager
 * outside a transaction. int8 is returned as bigint, timestamptz as Date, date and numeric as text.
 *
 * @example
 * const [invoice] = await query<{ paid: boolean }>(em, invoiceById, [invoiceId]);
 */
export async function query<Row>(
  on: EntityManager,
  statement: Statement,
  values: readonly unknown[],
  { timeoutMs }: QueryOptions = {},
): Promise<Row[]> {
  const state = stateIn(on);
  const database = databaseOf(on);
  const { pool, distributed, nodes } = database;
  nodes?.check(values, state?.client);
  if (!state && distributed && mayWaitForLock(statement)) {
    return transaction(on, (tx) => query(tx, statement, values, timeoutMs === undefined ? {} : { timeoutMs }));
  }
  const target = state ? openClient(state) : poolFor(on, pool);
  const result: QueryResult = await target.query(prepared(statement, values, database, timeoutMs));
  return result.rows as Row[];
}

const LOCKS = /\b(insert into|update|delete from|for (no key )?update|for (key )?share)\b/i;
const NEVER_WAITS = /\b(skip locked|nowait)\b/i;

/**
 * Returns whether a statement may wait for a lock. On a cluster such a statement runs in a transaction, because only a
 * transaction can limit how long a worker waits for a lock.
 */
function mayWaitForLock({ text }: Statement): boolean {
  return LOCKS.test(text) && !NEVER_WAITS.test(text);
}

/** Options of a statement whose answer is not awaited. */
export interface SendOptions {
  /**
   * Returns the error that fails the transaction if the statement fails. Pass the statement's error as its `cause`.
   * Default: the statement's error.
   */
  readonly translate?: (error: unknown) => unknown;
}

/**
 * Sends a prepared statement without waiting for its answer, so that it shares a round trip with the next one. If it fails,
 * the transaction fails. Use it for writes whose result is not read.
 *
 * @example
 * await transaction(em, async (tx) => send(tx, insertInvoice, [invoiceId, 250000n]));
 */
export function send(
  tx: Tx,
  statement: Statement,
  values: readonly unknown[],
  { translate = (error) => error }: SendOptions = {},
): void {
  const state = stateOf(tx);
  const database = databaseOf(tx);
  database.nodes?.check(values, state.client);
  const sent = openClient(state).query(prepared(statement, values, database));
  remember(state, sent, translate);
}

/**
 * Calls `act` after the commit has succeeded. The call is lost if the process dies in between, so use it only for hints.
 *
 * @example
 * afterCommit(tx, () => cache.delete(invoiceId));
 */
export function afterCommit(tx: Tx, act: () => void): void {
  stateOf(tx).afterCommit.push(act);
}

/**
 * Sends a signal after the commit to every process that listens on `channel`, including this one. A signal may be lost, so
 * it only says that rows may have changed. (A NOTIFY inside the transaction would serialise the commits of the database.)
 *
 * @example
 * signal(tx, "invoices", invoiceId);
 */
export function signal(tx: Tx, channel: string, payload: string): void {
  const { signals } = databaseOf(tx);
  afterCommit(tx, () => signals.emit(channel, payload));
}

/**
 * Sends COMMIT without waiting for unanswered statements. PostgreSQL answers a COMMIT after a failed statement with the
 * command ROLLBACK and no error. That is a failure too, caused by the first failed statement.
 */
async function commit(state: TxState): Promise<void> {
  let command: string | undefined;
  try {
    const [answer] = await Promise.all([state.client.query("commit"), ...state.sent]);
    command = answer.command;
  } catch (error) {
    throw isCommitOutcomeUnknown(error)
      ? new CommitOutcomeUnknownError("The connection was lost during the commit.", { cause: error })
      : error;
  }
  if (state.failure !== undefined) throw state.failure;
  if (command !== "COMMIT") throw new Error(`The transaction ended with ${command} instead of COMMIT.`);
}

/** Rolls back. Returns whether the connection can be used again; if not, it has to be closed. */
async function rollBack(client: PoolClient, state: TxState | undefined): Promise<boolean> {
  // Work that still runs must not send statements after the ROLLBACK, because each would be committed separately.
  if (state) state.open = false;
  try {
    await Promise.all(state?.sent ?? []);
    await (state?.client ?? client).query("rollback");
    state?.afterCommit.splice(0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs the callbacks of a committed transaction. Their errors are reported, but do not fail the transaction. A callback may wake up
 * work for other owners, so it does not run on behalf of the transaction's owner.
 */
export function runAfterCommit(tx: Tx, state: TxState): void {
  for (const act of state.afterCommit.splice(0)) {
    try {
      onBehalfOfAll(act);
    } catch (error) {
      databaseOf(tx).onError(error);
    }
  }
}

/**
 * Returns the configuration of a statement for `pg`. In a shared session, each statement is sent without a name.
 * `statementName` then only labels it for `onStatement`.
 */
function prepared(
  { name, text, isForeign }: Statement & Partial<ForeignStatement>,
  values: readonly unknown[],
  { sharesSessions, rename, answerTimeoutMs }: Pick<OpenDatabase, "sharesSessions" | "rename" | "answerTimeoutMs">,
  timeoutMs = answerTimeoutMs,
): QueryConfig {
  const config = {
    text: isForeign ? text : rename(text),
    values: values.map(parameterOf),
    types: statementTypes,
    query_timeout: timeoutMs,
  };
  if (name === "") return config;
  return { ...config, [sharesSessions ? "statementName" : "name"]: name };
}
