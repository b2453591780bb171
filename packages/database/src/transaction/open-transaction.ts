import type { EntityManager, EntityManagers } from "./entity-manager.ts";
import type { Writable } from "node:stream";
import type { PoolClient, QueryConfig, QueryResult } from "pg";
import { sqlState } from "../sql/sql-state.ts";

declare const joined: unique symbol;

/**
 * An EntityManager inside a transaction. Only `transaction` and `joinTransaction` make one. A function that takes a `Tx`
 * joins its caller's transaction. A function that takes an `EntityManager` opens its own transaction or only reads.
 */
export type Tx<Em extends EntityManager = EntityManager> = Em & { readonly [joined]: true };

/** The connection of a transaction: a client of a pool, or a host's client or Kysely. */
export interface TxClient {
  query(textOrConfig: string | QueryConfig, values?: unknown[]): Promise<QueryResult>;
}

export interface TxState {
  readonly client: TxClient;
  readonly sent: Promise<unknown>[];
  readonly afterCommit: (() => void)[];
  failure: Error | undefined;
  open: boolean;
}

const states = new WeakMap<EntityManager, TxState>();

const IN_FAILED_TRANSACTION = "25P02";

/**
 * Turns a new EntityManager into a `Tx`: from now on its statements are sent to this client. `begin` contains the
 * statements that begin the transaction. It is empty for a host's transaction, which has already begun. BEGIN is sent
 * without waiting for its answer, so that it shares a round trip with the first statement. If BEGIN fails, that statement
 * fails too.
 */
export async function openTx(
  tx: Tx,
  client: TxClient,
  managers: EntityManagers<EntityManager>,
  begin: readonly QueryConfig[] = [],
): Promise<TxState> {
  const state: TxState = { client, sent: [], afterCommit: [], failure: undefined, open: true };
  states.set(tx, state);
  for (const message of begin) remember(state, openClient(state).query(message));
  await managers.enter(tx, ({ text, values }) => openClient(state).query(text, values));
  return state;
}

/** The state of a `Tx`; undefined for a plain EntityManager. */
export function stateIn(em: EntityManager): TxState | undefined {
  return states.get(em);
}

export function stateOf(tx: Tx): TxState {
  const state = states.get(tx);
  if (!state) throw new Error("This is not a Tx: only transaction() and joinTransaction() make one.");
  return state;
}

export function openClient(state: TxState): TxClient {
  if (!state.open) throw new Error("The transaction has ended: await everything that uses its Tx inside the work.");
  if ("connection" in state.client) gatherWrites(state.client as PoolClient);
  return state.client;
}

/**
 * Watches a statement whose answer the caller does not await. The first failure of such a statement fails the
 * transaction, with the error that `translate` makes of it.
 */
export function remember(
  state: TxState,
  sent: Promise<unknown>,
  translate: (error: unknown) => unknown = (error) => error,
): void {
  state.sent.push(
    sent.catch((error: Error) => {
      state.failure ??= translate(error) as Error;
    }),
  );
}

/**
 * Returns the error that failed the transaction. PostgreSQL rejects every later statement with an error that does not
 * name the cause.
 */
export function causeOf(error: unknown, state: TxState | undefined): unknown {
  return state?.failure !== undefined && sqlState(error) === IN_FAILED_TRANSACTION ? state.failure : error;
}

/**
 * Sends all statements of one turn of the event loop in one write. `pg` writes each statement separately, and the system
 * calls took a seventh of the time of a confirmation.
 */
function gatherWrites(client: PoolClient): void {
  const { stream } = (client as PoolClient & { readonly connection: { readonly stream: Writable } }).connection;
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}
