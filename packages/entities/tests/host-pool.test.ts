import { directUrl, testDatabase } from "@collections/testing";
import { Pool } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { enqueue, isUnavailable, migrate, newId, query, statement, transaction } from "@collections/database";
import { createDatabase, type Database, type Tx } from "../src/index.ts";
import { ADD_CART, billingSchema, CARTS, Invoice, invoice, receiptById, reminders, ROWS_OF_CARTS } from "./shop.ts";

const LIMITS = "select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock";
const limits = statement("shop.limits", LIMITS);

let url: string;
let pool: Pool;
let borrowing: Database;
let cartId: string;

beforeAll(async () => {
  ({ url } = await testDatabase("shop", async (at) => {
    await migrate({ url: at, schemas: [billingSchema], jobs: true });
  }));
  pool = new Pool({ connectionString: directUrl(url), max: 2, application_name: "shop" });
  await pool.query(CARTS);
  borrowing = await createDatabase({ url, pool, schemas: [billingSchema] });
});

afterAll(async () => {
  await borrowing.close();
  await pool.end();
});

beforeEach(() => {
  cartId = newId();
});

const bill = (tx: Tx): Promise<void> => invoice(tx, cartId, () => enqueue(tx, reminders, { cartId }));

describe("on a host's pool", () => {
  test("entities, statements and jobs work, and close() leaves the pool open", async () => {
    const pool = new Pool({ connectionString: url, max: 2 });
    const another = await createDatabase({ url, pool, schemas: [billingSchema] });
    await pool.query(ADD_CART, [cartId]);
    await transaction(another.em(), bill);
    const written = await another.em().findOneOrFail(Invoice, { id: cartId });
    expect(written).toMatchObject({ amountMinor: 2500n, dueOn: "2026-12-01" });
    expect(await query(another.em(), receiptById, [cartId])).toEqual([{ id: cartId, minor: 2500n }]);
    await another.close();
    const { rows } = await pool.query(`select * from (${ROWS_OF_CARTS}) c where id = $1`, [cartId]);
    expect(rows).toEqual([{ id: cartId, rows: 4 }]);
    await pool.end();
  });

  test("entities have the same values inside and outside a transaction", async () => {
    await transaction(borrowing.em(), bill);
    const read = await transaction(borrowing.em(), (tx) => tx.findOneOrFail(Invoice, { id: cartId }));
    expect(read).toMatchObject({ amountMinor: 2500n, dueOn: "2026-12-01", writtenAt: expect.any(Date) as Date });
  });

  test("statements are sent without names, which the next session of a pooler would not know", async () => {
    await transaction(borrowing.em(), bill);
    await borrowing.em().findOneOrFail(Invoice, { id: cartId });
    await query(borrowing.em(), receiptById, [cartId]);
    expect(await onEachClient("select name from pg_prepared_statements")).toEqual([[], []]);
  });

  test("a transaction sets its time limits, and does not change the settings of the host's clients", async () => {
    expect(await transaction(borrowing.em(), (tx) => query(tx, limits, []))).toEqual([
      { statement: "30s", lock: "10s" },
    ]);
    const settings = await onEachClient(`${LIMITS}, current_setting('application_name') as name`);
    const own = { statement: "0", lock: "0", name: "shop" };
    expect(settings).toEqual([[own], [own]]);
  });

  test("a lost connection fails only its own transaction", async () => {
    const lost = transaction(borrowing.em(), async (tx) => {
      await bill(tx);
      const [session] = await tx.execute<{ pid: number }[]>("select pg_backend_pid() as pid");
      await pool.query("select pg_terminate_backend($1::integer)", [session!.pid]);
      await query(tx, receiptById, [cartId]);
    });
    await expect(lost).rejects.toSatisfy(isUnavailable);
    expect(await query(borrowing.em(), receiptById, [cartId])).toEqual([]);
  });
});

async function onEachClient(text: string): Promise<object[][]> {
  const clients = await Promise.all([pool.connect(), pool.connect()]);
  const answers = await Promise.all(clients.map((client) => client.query<object>(text)));
  for (const client of clients) client.release();
  return answers.map(({ rows }) => rows);
}
