import { directUrl, testDatabase } from "@collections/testing";
import { Pool } from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  afterCommit,
  enqueue,
  inTransaction,
  isUnavailable,
  migrate,
  newId,
  query,
  send,
  transaction,
} from "@collections/database";
import { createDatabase, type Database, type Tx } from "../src/index.ts";
import {
  ADD_CART,
  billingSchema,
  CARTS,
  insertReceipt,
  invoice,
  receiptById,
  reminders,
  ROWS_OF_CARTS,
} from "./shop.ts";

let pool: Pool;
let database: Database;
let cartId: string;

beforeAll(async () => {
  const { url } = await testDatabase("shop", async (at) => {
    await migrate({ url: at, schemas: [billingSchema], jobs: true });
  });
  pool = new Pool({ connectionString: directUrl(url), max: 1 });
  // Without a listener, the loss of an idle connection ends the process.
  pool.on("error", () => undefined);
  await pool.query(CARTS);
  database = await createDatabase({ url, schemas: [billingSchema] });
});

afterAll(async () => {
  await database.close();
  await pool.end();
});

beforeEach(() => {
  cartId = newId();
});

const bill = (tx: Tx): Promise<void> => invoice(tx, cartId, () => enqueue(tx, reminders, { cartId }));

async function rowsOfCart(): Promise<number> {
  const { rows } = await database.pool.query<{ rows: number }>(`select rows from (${ROWS_OF_CARTS}) c where id = $1`, [
    cartId,
  ]);
  return rows[0]?.rows ?? 0;
}

test("inTransaction commits the host's rows and ours, and returns the result", async () => {
  const committed: string[] = [];
  const result = await inTransaction(database, pool, async (tx, client) => {
    await client.query(ADD_CART, [cartId]);
    await bill(tx);
    afterCommit(tx, () => void committed.push(cartId));
    expect(committed).toEqual([]);
    return 7;
  });
  expect(result).toBe(7);
  expect(committed).toEqual([cartId]);
  expect(await rowsOfCart()).toBe(4);
});

test.each<[string, (tx: Tx) => void | Promise<void>]>([
  ["the work throws", () => Promise.reject(new Error("change of mind"))],
  ["a statement that was sent is refused", (tx) => send(tx, insertReceipt, [newId(), 0n])],
])("inTransaction rolls everything back if %s, and the client stays usable", async (_, fail) => {
  const failed = inTransaction(database, pool, async (tx, client) => {
    await client.query(ADD_CART, [cartId]);
    await bill(tx);
    await fail(tx);
  });
  await expect(failed).rejects.toThrow(/change of mind|receipt_amount_minor_check/);
  expect(await rowsOfCart()).toBe(0);
  await inTransaction(database, pool, (tx) => bill(tx));
  expect(await rowsOfCart()).toBe(3);
});

test("inTransaction closes a lost connection, so that the next one works", async () => {
  const lost = inTransaction(database, pool, async (tx, client) => {
    await bill(tx);
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    await database.pool.query("select pg_terminate_backend($1::integer)", [rows[0]!.pid]);
    await query(tx, receiptById, [cartId]);
  });
  await expect(lost).rejects.toSatisfy(isUnavailable);
  expect(await rowsOfCart()).toBe(0);
  await inTransaction(database, pool, (tx) => bill(tx));
  expect(await rowsOfCart()).toBe(3);
});

test("inTransaction fails if the connection is lost between two statements, and the host lives on", async () => {
  const lost = inTransaction(database, pool, async (tx, client) => {
    const ended = new Promise((resolve) => {
      client.once("end", resolve);
    });
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    await database.pool.query("select pg_terminate_backend($1::integer)", [rows[0]!.pid]);
    await ended;
    await query(tx, receiptById, [cartId]);
  });
  await expect(lost).rejects.toSatisfy(isUnavailable);
  expect(pool.totalCount).toBe(0);
});

test("inTransaction refuses arguments in another order, and gives the client back", async () => {
  const swapped = inTransaction(pool as never, database as never, () => Promise.resolve());
  await expect(swapped).rejects.toMatchObject({ code: "NO_POOL" });
  await transaction(database.em(), bill);
  await inTransaction(database, pool, (tx) => Promise.resolve(send(tx, insertReceipt, [newId(), 1n])));
});
