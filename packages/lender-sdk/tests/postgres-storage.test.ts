import { emptyDatabase } from "@collections/testing";
import { readFile } from "node:fs/promises";
import { Pool, type PoolClient } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createReceiver, PostgresStorage, postgresStorage, type ReceiverOptions } from "../src/index.ts";
import { anEvent, aWebhook, KEY_ID, SECRET } from "./signed-webhook.ts";

const SCHEMA = await readFile(new URL("../sql/receiver.sql", import.meta.url), "utf8");
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: (await emptyDatabase()).url, max: 3 });
  await pool.query(SCHEMA);
  await pool.query("create table borrower_note (id int primary key, text text not null)");
});

afterAll(async () => {
  await pool.end();
});

function aReceiver<Tx>(options: Pick<ReceiverOptions<Tx>, "storage" | "apply"> & Partial<ReceiverOptions<Tx>>) {
  return createReceiver<Tx>({
    secrets: { [KEY_ID]: SECRET },
    client: { getCase: () => Promise.reject(new Error("getCase was called although no event is missing.")) },
    onError: () => {},
    ...options,
  });
}

async function positionOf(loan: string, schema = "collections_receiver"): Promise<string | undefined> {
  const { rows } = await pool.query<{ sequence: string }>(
    `select sequence from ${schema}.loan where source_loan_number = $1`,
    [loan],
  );
  return rows[0]?.sequence;
}

test("postgresStorage accepts a pool of pg, and apply gets the client that has the transaction", async () => {
  const { receive } = aReceiver({
    storage: postgresStorage<PoolClient>(pool),
    apply: async ({ event }, tx) => {
      const { rowCount } = await tx.query("insert into borrower_note values (1, $1)", [event.kind]);
      expect(rowCount).toBe(1);
    },
  });
  expect((await receive(aWebhook(anEvent("LN-1", 1)))).status).toBe(200);
  expect((await pool.query("select text from borrower_note")).rows).toEqual([{ text: "payment.collected" }]);
  expect(await positionOf("LN-1")).toBe("1");
});

test("PostgresStorage rolls back if a query inside apply failed, even if apply catches the error", async () => {
  const { receive } = aReceiver({
    storage: postgresStorage<PoolClient>(pool),
    apply: async (_, tx) => {
      await tx.query("insert into borrower_note values (2, 'kept?')");
      await tx.query("insert into borrower_note values (2, 'again')").catch(() => {});
    },
  });
  expect((await receive(aWebhook(anEvent("LN-2", 1)))).status).toBe(500);
  expect((await pool.query("select from borrower_note where id = 2")).rowCount).toBe(0);
  expect(await positionOf("LN-2")).toBeUndefined();
});

test("many deliveries of one loan do not use up the pool's connections", async () => {
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const { receive } = aReceiver({
    storage: postgresStorage<PoolClient>(pool),
    apply: ({ state }) => (state.sourceLoanNumber === "LN-busy" ? released : undefined),
  });
  const busy = Array.from({ length: 10 }, () => receive(aWebhook(anEvent("LN-busy", 1))));
  expect((await receive(aWebhook(anEvent("LN-idle", 1)))).status).toBe(200);
  release();
  const outcomes = (await Promise.all(busy)).map(({ body }) => String(body["outcome"]));
  expect(outcomes.toSorted()).toEqual(["applied", ...Array<string>(9).fill("duplicate")]);
});

test("a connection that breaks during apply fails the event and does not end the process", async () => {
  const { receive } = aReceiver({
    storage: postgresStorage<PoolClient>(pool),
    apply: async ({ state }, tx) => {
      if (state.sourceLoanNumber !== "LN-3") return;
      const { rows } = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
      const gone = new Promise((resolve) => tx.once("error", resolve));
      await pool.query("select pg_terminate_backend($1::integer)", [rows[0]!.pid]);
      await gone;
    },
  });
  expect((await receive(aWebhook(anEvent("LN-3", 1)))).status).toBe(500);
  expect((await receive(aWebhook(anEvent("LN-4", 1)))).status).toBe(200);
});

test("PostgresStorage works with custom transactions and another schema", async () => {
  await pool.query(SCHEMA.replaceAll("collections_receiver", '"our ""events"'));
  const storage = new PostgresStorage<{ run: PoolClient }>(
    {
      transaction: async (work) => {
        const client = await pool.connect();
        try {
          await client.query("begin");
          const result = await work({ run: client });
          await client.query("commit");
          return result;
        } finally {
          client.release();
        }
      },
      query: ({ run }, text, values) => run.query(text, values),
    },
    { schema: 'our "events' },
  );
  const { receive } = aReceiver({
    storage,
    apply: async ({ state }, tx) => void (await tx.run.query(`select ${state.sequence}`)),
  });
  expect((await receive(aWebhook(anEvent("LN-5", 1)))).body).toMatchObject({ outcome: "applied" });
  expect((await receive(aWebhook(anEvent("LN-5", 1)))).body).toMatchObject({ outcome: "duplicate" });
  expect(await positionOf("LN-5", '"our ""events"')).toBe("1");
});

test("forgetBefore deletes old events and keeps the loans' sequences", async () => {
  const storage = postgresStorage<PoolClient>(pool);
  const { receive } = aReceiver({ storage, apply: () => {} });
  await receive(aWebhook(anEvent("LN-6", 1)));
  await storage.forgetBefore(new Date(Date.now() - 3_600_000));
  expect((await receive(aWebhook(anEvent("LN-6", 1)))).body).toMatchObject({ outcome: "duplicate" });
  await storage.forgetBefore(new Date(Date.now() + 3_600_000));
  expect((await receive(aWebhook(anEvent("LN-6", 1)))).body).toMatchObject({ outcome: "late" });
  expect(await positionOf("LN-6")).toBe("1");
});
