import type { EntityManager } from "@mikro-orm/postgresql";
import type { PoolClient, QueryConfig, QueryResult } from "pg";
import { parameterOf } from "../sql/array-text.ts";
import { isDistributed } from "./is-distributed.ts";
import { databaseOf, type OpenDatabase } from "./open-database.ts";
import { causeOf, openClient, openTx, remember, stateIn, stateOf, type Tx, type TxState } from "./open-transaction.ts";
import { hostClient } from "./host-client.ts";
import { onMissingRows } from "../sql/missing-rows.ts";
import { oneByOne } from "./one-by-one.ts";
import { ANSWER_TIMEOUT_MS, LOCAL_TIMEOUTS, LOCK_TIMEOUT_ON_WORKERS } from "./pooler.ts";
import { CommitOutcomeUnknownError, isCommitOutcomeUnknown, isUnavailable } from "../sql/sql-state.ts";
import { type Statement, statementTypes } from "../sql/statement.ts";

export type { Tx } from "./open-transaction.ts";

/** How to wait for an answer. */
export interface QueryOptions {
  /** How long to wait for the answer; then the connection is given up. For work that takes longer than a request may. */
  readonly timeoutMs?: number;
}

/**
 * Runs `work` in one transaction (READ COMMITTED) on one connection and commits. MikroORM's finds and flushes, pg-boss
 * jobs and prepared statements of `work` all share it. Rolls back and rethrows when anything fails.
 *
 * @throws CommitOutcomeUnknownError when the connection was lost while the COMMIT was on its way, or, on a cluster, the
 * connection between its nodes
 *
 * @example
 * await transaction(database.em(), async (tx) => {
 *   const [invoice] = await query<{ paid: boolean }>(tx, lockInvoice, [invoiceId]);
 *   if (invoice?.paid === false) send(tx, markPaid, [invoiceId]);
 * });
 */
export async function transaction<T>(em: EntityManager, work: (tx: Tx) => Promise<T>): Promise<T> {
  return run(em, work, "begin");
}

/**
 * Runs reads in one read-only transaction that sees every table as of one moment (REPEATABLE READ): what they tell
 * agrees with each other.
 *
 * @example
 * const [invoices, [total]] = await readSnapshot(em, async (tx) => [
 *   await query<{ amountMinor: bigint }>(tx, openInvoices, []),
 *   await query<{ totalMinor: bigint }>(tx, openTotal, []),
 * ]);
 */
export async function readSnapshot<T>(em: EntityManager, work: (tx: Tx) => Promise<T>): Promise<T> {
  return run(em, work, "begin isolation level repeatable read read only");
}

async function run<T>(em: EntityManager, work: (tx: Tx) => Promise<T>, beginText: string): Promise<T> {
  if (stateIn(em)) throw new Error("A transaction is open already: hand its Tx on instead of opening another.");
  const database = databaseOf(em);
  const { pool, isBorrowed } = database;
  if (database.distributed === undefined) await isDistributed(em);
  const begin = beginOf(beginText, database).map((text) => ({ text, query_timeout: ANSWER_TIMEOUT_MS }));
  const client = await pool.connect();
  const tx = em.fork() as Tx;
  let state: TxState | undefined;
  let broken = false;
  const forget = onMissingRows(client, (error) => {
    if (state) state.failure ??= error;
  });
  try {
    state = await openTx(tx, isBorrowed ? oneByOne(hostClient(client)) : client, begin);
    const result = await work(tx);
    await tx.flush();
    if (database.distributed) await Promise.all(state.sent);
    // PostgreSQL would commit although rows were missing from an answer: to the server that statement has succeeded.
    if (state.failure !== undefined) throw state.failure;
    await commit(state);
    return result;
  } catch (error) {
    broken = !(await rollBack(client, state));
    if (database.distributed && isUnavailable(error)) database.nodes?.suspect();
    throw causeOf(error, state);
  } finally {
    forget();
    if (state) state.open = false;
    client.release(broken);
    if (state && !broken) runAfterCommit(tx, state);
  }
}

/**
 * BEGIN and what a transaction sets for itself, each text a message of its own. On a cluster BEGIN goes alone: Citus
 * passes the whole text of a SET on to the workers, which log a warning for a BEGIN in it.
 */
function beginOf(beginText: string, { sharesSessions, distributed }: OpenDatabase): string[] {
  const timeouts = sharesSessions ? LOCAL_TIMEOUTS : [];
  if (!distributed) return [[beginText, ...timeouts].join("; ")];
  return [beginText, [...timeouts, ...LOCK_TIMEOUT_ON_WORKERS].join("; ")];
}

/**
 * Sends a prepared statement and waits for its rows, in the transaction or, given a plain EntityManager, outside one.
 * int8 arrives as bigint, timestamptz as Date, date and numeric as text.
 *
 * @example
 * const [invoice] = await query<{ paid: boolean }>(em, invoiceById, [invoiceId]);
 */
export async function query<Row>(
  on: EntityManager,
  statement: Statement,
  values: readonly unknown[],
  { timeoutMs = ANSWER_TIMEOUT_MS }: QueryOptions = {},
): Promise<Row[]> {
  const state = stateIn(on);
  const { pool, sharesSessions, distributed, nodes } = databaseOf(on);
  nodes?.check(values, state?.client);
  if (!state && distributed && mayWaitForLock(statement)) {
    return transaction(on, (tx) => query(tx, statement, values, { timeoutMs }));
  }
  const target = state ? openClient(state) : pool;
  const result: QueryResult = await target.query(prepared(statement, values, sharesSessions, timeoutMs));
  return result.rows as Row[];
}

const LOCKS = /\b(insert into|update|delete from|for (no key )?update|for (key )?share)\b/i;
const NEVER_WAITS = /\b(skip locked|nowait)\b/i;

/** On a cluster only a transaction can limit how long a worker waits for a lock. */
function mayWaitForLock({ text }: Statement): boolean {
  return LOCKS.test(text) && !NEVER_WAITS.test(text);
}

/**
 * Sends a prepared statement without waiting for it: it travels together with what follows, and when it fails the
 * transaction fails. For writes whose result nobody reads.
 *
 * @example
 * await transaction(em, async (tx) => send(tx, insertInvoice, [invoiceId, 250000n]));
 */
export function send(tx: Tx, statement: Statement, values: readonly unknown[]): void {
  const state = stateOf(tx);
  const { sharesSessions, nodes } = databaseOf(tx);
  nodes?.check(values, state.client);
  remember(state, openClient(state).query(prepared(statement, values, sharesSessions)));
}

/**
 * Runs `act` once the commit is known. It is lost when the process dies in between, so it may only carry hints.
 *
 * @example
 * afterCommit(tx, () => cache.delete(invoiceId));
 */
export function afterCommit(tx: Tx, act: () => void): void {
  stateOf(tx).afterCommit.push(act);
}

/**
 * Tells every process that listens on `channel`, this one included, that something changed; after the commit, and at
 * most a hint: the rows are the truth. (A NOTIFY inside the transaction would serialise the commits of the database.)
 *
 * @example
 * signal(tx, "invoices", invoiceId);
 */
export function signal(tx: Tx, channel: string, payload: string): void {
  const { signals } = databaseOf(tx);
  afterCommit(tx, () => signals.emit(channel, payload));
}

/**
 * Sends COMMIT right behind what is still on its way. A COMMIT after a failed statement resolves, with the command
 * ROLLBACK: that is a failure, and the first failed statement is its cause.
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

/** True when the connection is clean again; false when it has to be thrown away. */
async function rollBack(client: PoolClient, state: TxState | undefined): Promise<boolean> {
  // Work that goes on beside what has failed must not send anything behind the ROLLBACK: it would commit by itself.
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

/** The transaction has happened: a hint that cannot be given must not look like its failure. */
export function runAfterCommit(tx: Tx, state: TxState): void {
  for (const act of state.afterCommit.splice(0)) {
    try {
      act();
    } catch (error) {
      databaseOf(tx).onError(error);
    }
  }
}

/** In a session that is others' too it goes unnamed, and so for this once: only who watches is told its name. */
function prepared(
  { name, text }: Statement,
  values: readonly unknown[],
  sharesSessions: boolean,
  timeoutMs = ANSWER_TIMEOUT_MS,
): QueryConfig {
  const config = { text, values: values.map(parameterOf), types: statementTypes, query_timeout: timeoutMs };
  return { ...config, [sharesSessions ? "goesBy" : "name"]: name };
}
