import { testDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createDatabase,
  type Database,
  distribute,
  migrate,
  newId,
  query,
  send,
  statement,
  transaction,
} from "../index.ts";

const schema = {
  name: "held",
  entities: [],
  migrations: [
    {
      name: "0001",
      statements: [
        "create schema held",
        "create table held.invoice (lender_id uuid, id uuid, paid boolean not null, primary key (lender_id, id))",
      ],
    },
  ],
};
const insert = statement("held.insert", "insert into held.invoice values ($1, $2, false)");
const lock = statement("held.lock", "select id from held.invoice where lender_id = $1 and id = $2 for update");
const pay = statement("held.pay", "update held.invoice set paid = true where lender_id = $1 and id = $2");
/**
 * Each waiting statement locks its own row. If two statements waited for the same row, the second would restart its
 * wait after the first has failed.
 */
const keys = Array.from({ length: 3 }, () => [newId(), newId()]);

let database: Database;
let holder: Client;

beforeAll(async () => {
  const schemas = [schema];
  const { url } = await testDatabase("lock-limits", async (at) => void (await migrate({ url: at, schemas })));
  await distribute({ url, schemas });
  database = await createDatabase({ url, schemas });
  for (const key of keys) await transaction(database.em(), async (tx) => send(tx, insert, key));
  holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query("begin");
  for (const key of keys) await holder.query(lock.text, key);
});

afterAll(async () => {
  await holder.query("rollback");
  await holder.end();
  await database.close();
});

test("a wait for a row lock on a worker node ends after lock_timeout, in a transaction and outside one", async () => {
  const waiting = [
    transaction(database.em(), (tx) => query(tx, lock, keys[0]!)),
    query(database.em(), pay, keys[1]!),
    query(database.em(), lock, keys[2]!),
  ];
  const outcomes = await Promise.allSettled(waiting);
  expect(outcomes).toMatchObject(waiting.map(() => ({ status: "rejected", reason: { code: "55P03" } })));
});
