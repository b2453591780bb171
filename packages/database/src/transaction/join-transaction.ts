import type { EntityManager } from "@mikro-orm/postgresql";
import { CompiledQuery } from "kysely";
import type { ClientBase, QueryResult } from "pg";
import { forHost, hostClient } from "./host-client.ts";
import { isDistributed } from "./is-distributed.ts";
import { failOnMissingRows, onMissingRows } from "../sql/missing-rows.ts";
import type { Database } from "./open-database.ts";
import { causeOf, openTx, stateIn, type Tx, type TxClient, type TxState } from "./open-transaction.ts";
import { oneByOne, type PatientClient } from "./one-by-one.ts";
import { runAfterCommit } from "./transaction.ts";

/** What was done in a host's transaction. */
export interface Joined<T> {
  readonly result: T;
  /**
   * To be called once the host's COMMIT is known, and never after a rollback: wakes the workers of what was enqueued and
   * runs what `afterCommit` and `signal` have put off. Without it nothing is lost; workers find their jobs a little later.
   */
  committed(): void;
}

/**
 * Runs `work` inside a transaction that somebody else has begun and will end: on a `pg` client after its BEGIN, or in the
 * EntityManager that MikroORM's `transactional` hands out. All verbs that take a `Tx` join it, so that the host's rows and
 * ours are committed together or not at all. It sends no BEGIN, COMMIT or ROLLBACK.
 *
 * When it returns, every statement of `work` has succeeded and the `Tx` is closed. When it throws, the host rolls back:
 * its transaction, or to a savepoint that it set before. The isolation level is the host's; READ COMMITTED is what the
 * verbs are written for. Unflushed entities of the host's own EntityManager stay its own business.
 *
 * Statements go unnamed, since the session may be a pooler's. What the server gives up by itself (`lock_timeout` and
 * such) is the host's to set: it would hold for the host's statements as well. Ours wait 12 s for an answer, MikroORM's 35 s,
 * and behind one that has not come nothing is sent. `isUnavailable` is true of that error, and the client still waits: end it
 * (`client.release(true)`), a ROLLBACK would wait too. MikroORM sends its own: give the host's a `query_timeout`.
 *
 * A client is one of `pg` 8.21 or newer, the host's copy or ours; a host's MikroORM has exactly the version of ours.
 * On Citus, join by a client: a warning that rows are missing is not seen through a host's MikroORM.
 * @throws NoTransactionError when there is none to join
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
export async function joinTransaction<T>(
  database: Database,
  host: ClientBase | EntityManager,
  work: (tx: Tx) => Promise<T>,
): Promise<Joined<T>> {
  const tx = database.em() as Tx;
  const client = oneByOne(clientOf(host));
  const state = await openTx(tx, client);
  const forget = heedMissingRows(host, state);
  try {
    await isDistributed(tx);
    const result = await work(tx);
    await tx.flush();
    await settle(state, client);
    return { result, committed: () => runAfterCommit(tx, state) };
  } catch (error) {
    await settle(state, client).catch(() => {});
    throw causeOf(error, state);
  } finally {
    forget();
  }
}

/** A host's MikroORM does not give its client away, so there a warning of missing rows is not seen. */
function heedMissingRows(host: ClientBase | EntityManager, state: TxState): () => void {
  if ("getTransactionContext" in host) return () => {};
  const listeners = [
    failOnMissingRows(host),
    onMissingRows(host, (error) => {
      state.failure ??= error;
    }),
  ];
  return () => {
    for (const forget of listeners) forget();
  };
}

/** Nothing of ours may still be on its way when the host goes on: it might land behind the host's ROLLBACK. */
async function settle(state: TxState, client: PatientClient): Promise<void> {
  state.open = false;
  await Promise.all([...state.sent, client.drained()]);
  if (state.failure !== undefined) throw state.failure;
}

function clientOf(host: ClientBase | EntityManager): TxClient {
  if (!("getTransactionContext" in host)) return clientOfPg(host);
  if (stateIn(host)) throw new Error("A transaction is open already: hand its Tx on instead of joining it.");
  return clientOfMikroOrm(host);
}

function clientOfPg(client: ClientBase): TxClient {
  if (typeof client.getTransactionStatus !== "function") {
    throw new Error(
      "This client of pg cannot say whether it is in a transaction: update the host's pg to 8.21 or newer.",
    );
  }
  if (client.getTransactionStatus() === "I") throw new NoTransactionError("await its BEGIN first");
  return hostClient(client);
}

/**
 * By way of Kysely, whose driver hands the text of a query on to `pg` as it is: so a whole configuration gets there too,
 * with how to read its rows and how long to wait for them.
 */
function clientOfMikroOrm(em: EntityManager): TxClient {
  const kysely = em.getTransactionContext();
  if (!kysely) throw new NoTransactionError("give it the EntityManager that em.transactional() hands to its callback");
  return {
    async query(textOrConfig, values) {
      const config = forHost(textOrConfig, values);
      const { rows, numAffectedRows } = await kysely.executeQuery(CompiledQuery.raw(config as never, config.values));
      const command = numAffectedRows === undefined ? "SELECT" : "UPDATE";
      return { command, rowCount: Number(numAffectedRows ?? rows.length), rows } as QueryResult;
    },
  };
}

/**
 * The host's client or EntityManager is in no transaction: each statement would have committed by itself.
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
