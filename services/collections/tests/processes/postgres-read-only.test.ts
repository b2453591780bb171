/** @module-tag own-server */
import { type Postgres, startPostgres, temporaryDataDir } from "@collections/postgres";
import { afterFile, until } from "@collections/testing";
import { rmSync, statSync, writeFileSync, chownSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { beforeAll, expect, test } from "vitest";
import { type ServiceProcess, startProcess } from "../fixtures/processes.ts";

const dataDir = temporaryDataDir("collections-read-only-");

let postgres: Postgres;
let service: ServiceProcess;

beforeAll(async () => {
  afterFile(async () => {
    await postgres.stop();
    rmSync(dataDir, { recursive: true });
  });
  postgres = await startPostgres({ dataDir, durable: false });
  service = await startProcess({ DATABASE_URL: postgres.url });
});

/** Runs statements as an operator whose session may write. */
async function asOperator(...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: postgres.url, options: "-c default_transaction_read_only=off" });
  await client.connect();
  for (const text of statements) await client.query(text);
  await client.end();
}

async function readiness(): Promise<unknown> {
  const response = await fetch(`${service.url}/readyz`);
  return { status: response.status, ...((await response.json()) as object) };
}

test("a PostgreSQL that is read-only makes the process unready", async () => {
  expect(await readiness()).toEqual({ status: 200, ready: true, draining: false, reason: null });
  await asOperator("alter system set default_transaction_read_only = on", "select pg_reload_conf()");
  const reason = "PostgreSQL is read-only: default_transaction_read_only is on.";
  await expect.poll(readiness).toEqual({ status: 503, ready: false, draining: false, reason });
  await asOperator("alter system reset default_transaction_read_only", "select pg_reload_conf()");
  await expect.poll(readiness).toMatchObject({ status: 200 });
});

test("a PostgreSQL in recovery makes the process unready until its promotion", async () => {
  await postgres.stop();
  await expect.poll(readiness).toMatchObject({ status: 503, reason: "PostgreSQL does not answer." });
  const signal = join(dataDir, "standby.signal");
  writeFileSync(signal, "");
  const { uid, gid } = statSync(dataDir);
  chownSync(signal, uid, gid);
  postgres = await startPostgres({ dataDir, durable: false, port: postgres.port });
  const reason = "PostgreSQL is in recovery and accepts no writes.";
  await expect.poll(readiness).toMatchObject({ status: 503, reason });
  await asOperator("select pg_promote()");
  await until(async () => (await fetch(`${service.url}/readyz`)).ok);
  expect(await readiness()).toMatchObject({ status: 200, reason: null });
});
