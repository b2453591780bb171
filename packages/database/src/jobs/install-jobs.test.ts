import { directUrl, emptyDatabase } from "@collections/testing";
import { createRequire } from "node:module";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrate, queue } from "../index.ts";
import { PG_BOSS_SCHEMA } from "./boss-schema.ts";
import { hasJobs, missingJobs } from "./install-jobs.ts";

const reminders = queue("billing.remind", { retryLimit: 3, retryDelay: 5, expireInSeconds: 60 });
const receipts = queue("billing.receipts", { retryLimit: 0, expireInSeconds: 60, deleteAfterSeconds: 600 });
const queues = [reminders, receipts];

let url: string;
let client: Client;

beforeAll(async () => {
  url = directUrl((await emptyDatabase()).url);
  client = new Client({ connectionString: url });
  await client.connect();
});
afterAll(() => client.end());

function install(): Promise<unknown> {
  return migrate({ url, jobs: true, schemas: [{ name: "billing", entities: [], migrations: [], queues }] });
}

test("PG_BOSS_SCHEMA is the version of the tables that the installed pg-boss makes", () => {
  const manifest = createRequire(import.meta.url)("pg-boss/package.json") as { pgboss: { schema: number } };
  expect(PG_BOSS_SCHEMA).toBe(manifest.pgboss.schema);
});

test("hasJobs is false in an empty database, and true once migrate has installed the queues", async () => {
  expect(await hasJobs(client, queues, "collections_jobs")).toBe(false);
  await install();
  expect(await hasJobs(client, queues, "collections_jobs")).toBe(true);
});

test("hasJobs is false for a queue that is not installed, and for a queue with other options", async () => {
  await install();
  expect(
    await hasJobs(client, [queue("billing.other", { retryLimit: 1, expireInSeconds: 60 })], "collections_jobs"),
  ).toBe(false);
  const changed = queue("billing.remind", { ...reminders.options, retryLimit: 4 });
  expect(await hasJobs(client, [changed, receipts], "collections_jobs")).toBe(false);
});

test.each([
  ["tables of an older pg-boss", "update collections_jobs.version set version = version - 1"],
  [
    "an option that somebody changed",
    "update collections_jobs.queue set retry_limit = 9 where name = 'billing.remind'",
  ],
  ["a queue that somebody removed", "delete from collections_jobs.queue where name = 'billing.receipts'"],
  ["no JOB_COMMIT_TABLE", "drop table collections_job_commit"],
])("hasJobs is false with %s", async (_, change) => {
  await install();
  await client.query("begin");
  await client.query(change);
  expect(await hasJobs(client, queues, "collections_jobs")).toBe(false);
  await client.query("rollback");
});

test("migrate gives a queue its options again after somebody has changed them", async () => {
  await install();
  await client.query("update collections_jobs.queue set retry_limit = 9");
  await install();
  const { rows } = await client.query<{ retry_limit: number }>(
    "select retry_limit from collections_jobs.queue order by name",
  );
  expect(rows.map((row) => row.retry_limit)).toEqual([0, 3]);
});

describe("tables of a later pg-boss", () => {
  /** Runs `work` in a transaction with such tables, which is rolled back. */
  async function withLater(work: () => Promise<void>, ...changes: readonly string[]): Promise<void> {
    await install();
    await client.query("begin; update collections_jobs.version set version = version + 1");
    try {
      for (const change of changes) await client.query(change);
      await work();
    } finally {
      await client.query("rollback");
    }
  }

  test("count as installed, whatever the options of the queues are", async () => {
    await withLater(async () => {
      expect(await hasJobs(client, queues, "collections_jobs")).toBe(true);
      expect(await missingJobs(client, queues, "collections_jobs")).toEqual([]);
    }, "update collections_jobs.queue set retry_limit = 9");
  });

  test("lack a queue that nobody has created", async () => {
    const other = queue("billing.other", { retryLimit: 1, expireInSeconds: 60 });
    await withLater(async () => {
      expect(await hasJobs(client, [...queues, other], "collections_jobs")).toBe(false);
      expect(await missingJobs(client, [...queues, other], "collections_jobs")).toEqual(["queue billing.other"]);
    });
  });

  test("keep their options in `migrate`, which reports them and creates missing queues", async () => {
    await install();
    await client.query("update collections_jobs.version set version = version + 1");
    await client.query("update collections_jobs.queue set retry_limit = 9 where name = 'billing.remind'");
    await client.query("delete from collections_jobs.queue where name = 'billing.receipts'");
    expect(await install()).toEqual({ applied: [], unknown: [`collections_jobs/${PG_BOSS_SCHEMA + 1}`] });
    const { rows } = await client.query("select retry_limit as limit from collections_jobs.queue order by name");
    expect(rows).toEqual([{ limit: 0 }, { limit: 9 }]);
  });

  test("may have other columns than this version reads", async () => {
    await install();
    await client.query("alter table collections_jobs.queue rename column retry_limit to attempts");
    expect(await hasJobs(client, queues, "collections_jobs")).toBe(true);
    await client.query("alter table collections_jobs.queue rename column attempts to retry_limit");
  });
});
