import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { distribute, migrate } from "../index.ts";

/** As every released version knows it. */
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

test("who has to wait for another migration is told so, and which process of PostgreSQL to look at", async () => {
  const { rows } = await holder.query<{ pid: number }>("select pg_backend_pid() as pid, pg_advisory_lock($1)", [
    MIGRATION_LOCK,
  ]);
  const told: string[] = [];
  const onWait = (message: string): void => {
    told.push(message);
    if (told.length === 2) void holder.query("select pg_advisory_unlock_all()");
  };
  await Promise.all([migrate({ url, schemas, onWait }), distribute({ url, schemas, dryRun: true, onWait })]);
  expect(told).toEqual(
    Array.from({ length: 2 }, () => expect.stringContaining(`pg_terminate_backend(${rows[0]!.pid})`) as string),
  );
});

test("who has not to wait is told nothing", async () => {
  const told: string[] = [];
  await migrate({ url, schemas, onWait: (message) => told.push(message) });
  expect(told).toEqual([]);
});

test("a migration analyzes large tables that have no statistics, and no empty or small ones", async () => {
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
