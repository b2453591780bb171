import { directUrl, testDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase, firstIdAt, newId, visibleUntil } from "../index.ts";

const { url } = await testDatabase("visible-until", async (at) => {
  const client = new Client({ connectionString: at });
  await client.connect();
  await client.query("create table thing (id uuid primary key); create table other (id uuid primary key)");
  await client.end();
});
const database = await createDatabase({ url, schemas: [] });
const session = new Client({ connectionString: directUrl(url) });
beforeAll(() => session.connect());
afterAll(async () => {
  await session.end();
  await database.close();
});

const SECOND_MS = 1_000;
const LOCK = "select id from thing order by id limit 1 for update";

function now(): number {
  return Date.now();
}

async function until(): Promise<number> {
  return (await visibleUntil(database.em(), "public.thing")).getTime();
}

test("visibleUntil is shortly before the present if no transaction writes", async () => {
  const before = now();
  expect(await until()).toBeGreaterThan(before - 100 * SECOND_MS);
  expect(await until()).toBeLessThan(now());
});

test("visibleUntil stays before the ids of an open transaction, however long it is open, and passes them after the commit", async () => {
  await session.query("begin");
  await session.query(LOCK);
  const id = newId();
  await session.query("insert into thing (id) values ($1)", [id]);
  const first = await until();
  expect(firstIdAt(new Date(first)) < id).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await until()).toBe(first);
  await session.query("commit");
  expect(await until()).toBeGreaterThan(first);
});

test("visibleUntil stays before a transaction that has only locked a row, because its ids follow", async () => {
  await session.query("begin");
  await session.query(LOCK);
  const first = await until();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await until()).toBe(first);
  await session.query("rollback");
});

test("visibleUntil ignores a transaction that only reads the table, and one that writes another table", async () => {
  await session.query("begin; select * from thing; insert into other (id) values (gen_random_uuid())");
  const first = await until();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await until()).toBeGreaterThan(first);
  await session.query("rollback");
});

test("visibleUntil assumes that a transaction is 15 minutes old if the role may not see when it started", async () => {
  const role = `watcher_${newId().replaceAll("-", "").slice(0, 12)}`;
  await session.query(`create role ${role} login password 'watcher'`);
  const address = new URL(directUrl(url));
  Object.assign(address, { username: role, password: "watcher" });
  const watcher = await createDatabase({ url: address.href, schemas: [] });
  try {
    await session.query("begin");
    await session.query(LOCK);
    const seen = (await visibleUntil(watcher.em(), "public.thing")).getTime();
    expect(seen).toBeLessThan(now() - 14 * 60 * SECOND_MS);
    await session.query("rollback");
    expect((await visibleUntil(watcher.em(), "public.thing")).getTime()).toBeGreaterThan(now() - 100 * SECOND_MS);
  } finally {
    await watcher.close();
    await session.query(`drop role ${role}`);
  }
});
