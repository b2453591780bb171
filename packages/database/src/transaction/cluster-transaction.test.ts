/** @module-tag without-citus */
import { directUrl, testDatabase } from "@collections/testing";
import { afterEach, beforeAll, expect, test } from "vitest";
import {
  createDatabase,
  type Database,
  enqueue,
  enqueueAll,
  migrate,
  query,
  queue,
  statement,
  transaction,
} from "../index.ts";

// Tests which statements a process sends on a cluster. A table replaces the catalog of Citus, and a PostgreSQL without Citus
// accepts all other statements.
const reminders = queue<{ invoiceId: string }>("orders.reminders", { retryLimit: 0, expireInSeconds: 60 });
const schema = {
  name: "orders",
  entities: [],
  migrations: [
    {
      name: "0001",
      statements: [
        "create schema orders",
        "create table orders.invoice (id int primary key)",
        `create table public.pg_dist_partition (partmethod "char")`,
      ],
    },
  ],
  queues: [reminders],
};
const schemas = [schema];
const count = statement("orders.count", "select count(*) from orders.invoice");
const add = statement("orders.add", "insert into orders.invoice values ($1)");
const lease = statement("orders.lease", "select id from orders.invoice for update skip locked");
const lock = statement("orders.lock", "select id from orders.invoice for update");
const LIMITED = ["begin", "set local citus.propagate_set_commands = 'local'; set local lock_timeout = 10000"];

let url: string;
let database: Database | undefined;
let sent: string[] = [];

beforeAll(async () => {
  ({ url } = await testDatabase("cluster-transaction", async (at) => {
    await migrate({ url: at, schemas, jobs: true });
  }));
});

afterEach(async () => {
  await database?.close();
});

async function open(isCluster: boolean): Promise<Database> {
  const onStatement = ({ name, text }: { name: string | undefined; text: string }) => sent.push(name ?? text);
  database = await createDatabase({ url: directUrl(url), schemas, onStatement });
  await database.pool.query("delete from pg_dist_partition");
  if (isCluster) await database.pool.query("insert into pg_dist_partition values ('h')");
  await database.jobs.start();
  sent = [];
  return database;
}

test("without a cluster, onStatement reports only BEGIN, COMMIT and the caller's statements", async () => {
  const { em } = await open(false);
  await transaction(em(), (tx) => query(tx, count, []));
  await query(em(), lock, []);
  expect(sent).toEqual(["begin", "orders.count", "commit", "orders.lock"]);
});

test("a transaction on a cluster limits lock waits on the workers, in a message after BEGIN", async () => {
  const { em } = await open(true);
  await transaction(em(), (tx) => query(tx, count, []));
  expect(sent).toEqual([...LIMITED, "orders.count", "commit"]);
});

test("on a cluster, a single statement gets a transaction of its own only if it may wait for a lock", async () => {
  const { em } = await open(true);
  await transaction(em(), (tx) => query(tx, count, []));
  sent = [];
  await query(em(), count, []);
  await query(em(), lease, []);
  expect(sent).toEqual(["orders.count", "orders.lease"]);
  sent = [];
  await query(em(), lock, []);
  await query(em(), add, [1]);
  expect(sent).toEqual([...LIMITED, "orders.lock", "commit", ...LIMITED, "orders.add", "commit"]);
});

test("on a cluster, enqueue makes the commit two-phase, and enqueueAll does not", async () => {
  const data = { invoiceId: "1" };
  const isCommitted = () => sent.filter((text) => text === "jobs.commit-with-job").length;
  const one = await open(false);
  await transaction(one.em(), (tx) => enqueue(tx, reminders, data));
  expect(isCommitted()).toBe(0);
  await one.close();
  const cluster = await open(true);
  await transaction(cluster.em(), (tx) => enqueueAll(tx, reminders, [{ data, startAfter: new Date() }]));
  expect(isCommitted()).toBe(0);
  await transaction(cluster.em(), (tx) => enqueue(tx, reminders, data));
  expect(isCommitted()).toBe(1);
});
