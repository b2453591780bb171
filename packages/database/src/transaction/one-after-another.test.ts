/** @module-tag without-citus */
import { testDatabase } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase, type Database, isDistributed, isUnavailable, migrate, oneAfterAnother } from "../index.ts";

const lost = Object.assign(new Error("connection to the remote node failed"), { code: "08006" });
const refused = Object.assign(new Error("a check is violated"), { code: "23514" });

let database: Database;

beforeAll(async () => {
  const { url } = await testDatabase("one-after-another", async (at) => {
    await migrate({ url: at, schemas: [] });
  });
  database = await createDatabase({ url, schemas: [] });
});

afterAll(() => database.close());

async function seenWhenOddItemsFail(failure: Error): Promise<{ seen: number[]; outcome: unknown }> {
  const seen: number[] = [];
  const outcome: unknown = await oneAfterAnother(database.em(), [1, 2, 3, 4], async (number) => {
    seen.push(number);
    if (number % 2 === 1) throw failure;
  }).catch((error: unknown) => error);
  return { seen, outcome };
}

test("oneAfterAnother processes every item in order, and throws all failures at the end", async () => {
  const { seen, outcome } = await seenWhenOddItemsFail(refused);
  expect(seen).toEqual([1, 2, 3, 4]);
  expect(outcome).toMatchObject({ message: "2 of 4 items failed.", errors: [refused, refused] });
});

test("oneAfterAnother stops when the database is unavailable and not distributed", async () => {
  const { seen, outcome } = await seenWhenOddItemsFail(lost);
  expect(seen).toEqual([1]);
  expect(isUnavailable(outcome)).toBe(true);
});

test("oneAfterAnother continues when a node is unavailable and tables are distributed", async () => {
  // A table named as Citus's catalog makes `isDistributed` true without Citus.
  const { url } = await testDatabase("one-after-another", async () => {});
  const cluster = await createDatabase({ url, schemas: [] });
  await cluster.pool.query(
    `create table if not exists public.pg_dist_partition (partmethod "char"); insert into pg_dist_partition values ('h')`,
  );
  expect(await isDistributed(cluster.em())).toBe(true);
  const seen: number[] = [];
  const work = oneAfterAnother(cluster.em(), [1, 2, 3], async (number) => {
    seen.push(number);
    if (number === 1) throw lost;
  });
  await expect(work).rejects.toThrow("1 of 3 items failed.");
  expect(seen).toEqual([1, 2, 3]);
  await cluster.close();
});

test("oneAfterAnother does not throw when nothing fails", async () => {
  await expect(oneAfterAnother(database.em(), [1, 2], async () => {})).resolves.toBeUndefined();
});
