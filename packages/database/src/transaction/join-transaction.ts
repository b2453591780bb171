import type { EntityManager } from "./entity-manager.ts";
import { randomUUID } from "node:crypto";
import type { ClientBase, QueryConfig, QueryResult } from "pg";
import { forHost, hostClient } from "./host-client.ts";
import { isDistributed } from "./is-distributed.ts";
import { failOnMissingRows, onMissingRows } from "../sql/missing-rows.ts";
import { type Database, databaseOf } from "./open-database.ts";
import { causeOf, openTx, stateIn, type Tx, type TxClient, type TxState } from "./open-transaction.ts";
import { oneByOne, type SequentialClient } from "./one-by-one.ts";
import { runAfterCommit } from "./transaction.ts";

/** The EntityManager of a host's own MikroORM. */
export interface HostEntityManager {
  /** Returns the Kysely of its transaction; undefined outside a transaction. */
  getTransactionContext(): HostKysely | undefined;
}

/** The Kysely of a host's transaction. */
interface HostKysely {
  executeQuery(query: never): Promise<{ readonly rows: unknown[]; readonly numAffectedRows?: bigint }>;
}

/** The result of work in a host's transaction. */
export interface Joined<T> {
  readonly result: T;
  /**
   * Call it after the host's COMMIT has succeeded, and never after a rollback. It signals the workers of enqueued jobs, and
   * runs the callbacks of `afterCommit` and `signal`. Without the call no job is lost, but workers find the jobs later.
   */
  committed(): void;
}

/**
 * Runs `work` inside a transaction that a host begins and ends: on a `pg` client after its BEGIN, or in the EntityManager
 * that MikroORM's `transactional` passes to its callback. All functions that take a `Tx` join it, so that the host's rows
 * and ours are committed together or not at all. `joinTransaction` sends no BEGIN, COMMIT or ROLLBACK.
 *
 * When it returns, every statement of `work` has succeeded, and the `Tx` is closed. When it throws, the host has to roll
 * back the transaction, or roll back to a savepoint that it set before. The host chooses the isolation level; our
 * functions are written for READ COMMITTED. Entities of the host's own EntityManager are not flushed.
 *
 * Statements are sent without names, because the session may be a pooler's. `joinTransaction` sets no time limits of the
 * server such as `lock_timeout`, because they would apply to the host's statements too. Our statements wait 12 s for an
 * answer, those of MikroORM 35 s. After a statement without an answer nothing more is sent, and `isUnavailable` is true for
 * its error. The client is still waiting then, and a ROLLBACK would wait too, so end it with `client.release(true)`. A
 * host's MikroORM sends its ROLLBACK itself, so give its connection a `query_timeout`.
 *
 * The client has to be of `pg` 8.21 or newer, the host's copy or ours. A host's MikroORM must have exactly the version of
 * ours. On Citus, pass a `pg` client: warnings that rows are missing cannot be seen through a host's MikroORM.
 * @throws UnusableHostError for a pool, a client of an old pg, a Tx, or arguments in another order
 * @throws NoTransactionError if the client or EntityManager is in no transaction
 *
 * @example
 * await client.query("begin");
 * await client.query("update shop.cart set paid = true where id = $1", [cartId]);
 * const { committed } = await joinTransaction(database, client, async (tx) => {
 *   send(tx, insertInvoice, [invoiceId, 250000n]);
 * });
 * await client.query("commit");
 * committed();
 */
export async function joinTransaction<T, Em extends EntityManager>(
  database: Database<Em>,
  host: ClientBase | HostEntityManager,
  work: (tx: Tx<Em>) => Promise<T>,
): Promise<Joined<T>> {
  if (typeof database?.em !== "function" || typeof work !== "function") throw new UnusableHostError("WRONG_ARGUMENTS");
  const tx = database.em() as Tx<Em>;
  const client = oneByOne(clientOf(host));
  const { managers } = databaseOf(tx);
  const state = await openTx(tx, client, managers);
  const stopListening = listenForMissingRows(host, state);
  try {
    await isDistributed(tx);
    const result = await work(tx);
    await managers.flush(tx);
    await settle(state, client);
    return { result, committed: () => runAfterCommit(tx, state) };
  } catch (error) {
    await settle(state, client).catch(() => {});
    throw causeOf(error, state);
  } finally {
    stopListening();
  }
}

/**
 * Lets the transaction fail if Citus warns that rows are missing from an answer. Does nothing for a host's
 * EntityManager, because MikroORM does not expose the client. Returns a function that stops listening.
 */
function listenForMissingRows(host: ClientBase | HostEntityManager, state: TxState): () => void {
  if ("getTransactionContext" in host) return () => {};
  const listeners = [
    failOnMissingRows(host),
    onMissingRows(host, (error) => {
      state.failure ??= error;
    }),
  ];
  return () => {
    for (const stop of listeners) stop();
  };
}

/** Waits for all our statements, so that none of them is executed after the host's ROLLBACK. */
async function settle(state: TxState, client: SequentialClient): Promise<void> {
  state.open = false;
  await Promise.all([...state.sent, client.drained()]);
  if (state.failure !== undefined) throw state.failure;
}

function clientOf(host: ClientBase | HostEntityManager): TxClient {
  if (typeof host !== "object" || host === null) throw new UnusableHostError("NO_CLIENT");
  if (!("getTransactionContext" in host)) return clientOfPg(host);
  if (isTx(host)) throw new UnusableHostError("ALREADY_JOINED");
  return clientOfMikroOrm(host);
}

function clientOfPg(client: ClientBase): TxClient {
  if ("totalCount" in client) throw new UnusableHostError("POOL");
  if (typeof client.query !== "function") throw new UnusableHostError("NO_CLIENT");
  if (typeof client.getTransactionStatus !== "function") throw new UnusableHostError("OLD_PG");
  if (client.getTransactionStatus() === "I") throw new NoTransactionError("await BEGIN on the client first");
  return hostClient(client);
}

function isTx(host: object): boolean {
  return stateIn(host as EntityManager) !== undefined;
}

/**
 * Sends queries through the Kysely of the host's MikroORM. Its driver passes the text of a query to `pg` unchanged, so a
 * whole query configuration, with type parsers and a time limit, can be passed in place of the text.
 */
function clientOfMikroOrm(em: HostEntityManager): TxClient {
  const kysely = em.getTransactionContext();
  if (!kysely) throw new NoTransactionError("pass the EntityManager that em.transactional() passes to its callback");
  return {
    async query(textOrConfig, values) {
      const config = forHost(textOrConfig, values);
      const { rows, numAffectedRows } = await kysely.executeQuery(compiled(config) as never);
      const command = numAffectedRows === undefined ? "SELECT" : "UPDATE";
      return { command, rowCount: Number(numAffectedRows ?? rows.length), rows } as QueryResult;
    },
  };
}

/** Makes what `CompiledQuery.raw` of Kysely makes. Kysely belongs to the host's MikroORM, and is not loaded here. */
function compiled(config: QueryConfig): object {
  const parameters = config.values ?? [];
  return {
    sql: config,
    parameters,
    query: { kind: "RawNode", sqlFragments: [config], parameters: [] },
    queryId: { queryId: randomUUID() },
  };
}

const UNUSABLE = {
  WRONG_ARGUMENTS:
    "joinTransaction takes three arguments: await joinTransaction(database, client, async (tx) => { … }), where database is the result of createDatabase().",
  POOL: "joinTransaction got a pool, which gives each query any client. Pass one client: const client = await pool.connect(), and then BEGIN on it.",
  NO_POOL:
    "inTransaction takes three arguments: await inTransaction(database, pool, async (tx, client) => { … }), where database is the result of createDatabase(), and pool is a Pool of pg.",
  NO_CLIENT:
    "joinTransaction needs a client of pg, or the EntityManager that em.transactional() passes to its callback.",
  OLD_PG: "This client of pg cannot say whether it is in a transaction: update the host's pg to 8.21 or newer.",
  ALREADY_JOINED: "A transaction is already open: pass its Tx instead of joining it again.",
} as const;

/**
 * The object that was passed to `joinTransaction` has no transaction that can be joined, or an argument is missing. Nothing
 * was sent.
 *
 * @example
 * await joinTransaction(database, client, async (tx) => send(tx, markPaid, [invoiceId])).catch((error: unknown) => {
 *   if (error instanceof UnusableHostError) console.error(error.code, error.message);
 *   throw error;
 * });
 */
export class UnusableHostError extends Error {
  override readonly name = "UnusableHostError";
  readonly code: keyof typeof UNUSABLE;

  constructor(code: keyof typeof UNUSABLE) {
    super(UNUSABLE[code]);
    this.code = code;
  }
}

/**
 * The host's client or EntityManager is not in a transaction. Each statement would have been committed separately.
 *
 * @example
 * await joinTransaction(database, client, async (tx) => send(tx, markPaid, [invoiceId])).catch((error: unknown) => {
 *   if (error instanceof NoTransactionError) console.error(`Not booked: ${error.message}`);
 *   throw error;
 * });
 */
export class NoTransactionError extends Error {
  override readonly name = "NoTransactionError";
  readonly code = "NO_TRANSACTION";

  constructor(remedy: string) {
    super(`The host's transaction has not begun: ${remedy}.`);
  }
}
