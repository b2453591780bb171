import type { ClientBase } from "pg";
import { isUnavailable } from "../sql/sql-state.ts";
import type { EntityManager } from "./entity-manager.ts";
import { joinTransaction, UnusableHostError } from "./join-transaction.ts";
import type { Database } from "./open-database.ts";
import type { Tx } from "./open-transaction.ts";

/** A pool of the host, such as a `Pool` of `pg`. */
export interface HostPool<Client extends ClientBase & HostClient> {
  connect(): Promise<Client>;
}

/** A client of a pool. */
export interface HostClient {
  release(destroy?: boolean): void;
}

/**
 * Runs `work` in a transaction on a client of the host's own pool, and commits it: the host's queries on `client` and our
 * functions that take `tx` are committed together or not at all. If anything fails, it rolls back and rethrows the error. A
 * connection that is lost or does not answer is closed. It is `joinTransaction` with the BEGIN, the COMMIT and the ROLLBACK
 * that a host otherwise writes itself.
 *
 * @throws UnusableHostError for arguments in another order, and what `work` and `joinTransaction` throw. If the connection is lost during the COMMIT, the error is that of `pg`,
 * and the transaction may have been committed.
 *
 * @example
 * await inTransaction(database, pool, async (tx, client) => {
 *   await client.query("update shop.cart set paid = true where id = $1", [cartId]);
 *   send(tx, insertInvoice, [invoiceId, 250000n]);
 * });
 */
export async function inTransaction<T, Client extends ClientBase & HostClient, Em extends EntityManager>(
  database: Database<Em>,
  pool: HostPool<Client>,
  work: (tx: Tx<Em>, client: Client) => Promise<T>,
): Promise<T> {
  const areSwapped = typeof database?.em !== "function" || typeof pool?.connect !== "function";
  if (areSwapped || typeof work !== "function") throw new UnusableHostError("NO_POOL");
  const client = await pool.connect();
  // A connection that is lost between two statements emits an error, which would end a host without a listener. The next
  // statement fails.
  const onLost = (): void => {};
  client.on("error", onLost);
  let isUsable = true;
  try {
    await client.query("begin");
    const { result, committed } = await joinTransaction(database, client, (tx) => work(tx, client));
    await client.query("commit");
    committed();
    return result;
  } catch (error) {
    // A ROLLBACK on a connection that does not answer would wait, too.
    isUsable = !isUnavailable(error) && (await rolledBack(client));
    throw error;
  } finally {
    client.off("error", onLost);
    client.release(!isUsable);
  }
}

async function rolledBack(client: ClientBase): Promise<boolean> {
  try {
    await client.query("rollback");
    return true;
  } catch {
    return false;
  }
}
