import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { distribute, migrate } from "../index.ts";

/** The key of the migration lock. Every released version uses this key. */
const MIGRATION_LOCK = 0x70636f6c6c;
const schemas = [{ name: "shop", entities: [], migrations: [] }];

let url: string;
let holder: Client;

beforeAll(async () => {
  url = directUrl((await emptyDatabase()).url);
  holder = new Client({ connectionString: url });
  await holder.connect();
});

afterAll(() => holder.end());

test("onWait receives a message with the PostgreSQL process that holds the lock", async () => {
  const { rows } = await holder.query<{ pid: number }>("select pg_backend_pid() as pid, pg_advisory_lock($1)", [
    MIGRATION_LOCK,
  ]);
  const messages: string[] = [];
  const onWait = (message: string): void => {
    messages.push(message);
    if (messages.length === 2) void holder.query("select pg_advisory_unlock_all()");
  };
  await Promise.all([migrate({ url, schemas, onWait }), distribute({ url, schemas, dryRun: true, onWait })]);
  expect(messages).toEqual(
    Array.from({ length: 2 }, () => expect.stringContaining(`pg_terminate_backend(${rows[0]!.pid})`) as string),
  );
});

test("onWait is not called if the lock is free", async () => {
  const messages: string[] = [];
  await migrate({ url, schemas, onWait: (message) => messages.push(message) });
  expect(messages).toEqual([]);
});

test("a migration analyzes large tables without statistics, but not empty and small ones", async () => {
  await holder.query(`
    create schema shop;
    create table shop.large with (autovacuum_enabled = false) as select repeat('x', 500) from generate_series(1, 5000);
    create table shop.small with (autovacuum_enabled = false) as select 1;
    create table shop.empty (id integer)`);
  await migrate({ url, schemas });
  const { rows } = await holder.query<{ name: string; rows: number }>(
    "select relname as name, reltuples as rows from pg_class where relnamespace = 'shop'::regnamespace and relkind = 'r' order by 1",
  );
  expect(rows).toEqual([
    { name: "empty", rows: -1 },
    { name: "large", rows: 5000 },
    { name: "small", rows: -1 },
  ]);
});
