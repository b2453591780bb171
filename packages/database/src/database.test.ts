import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { expect, test } from "vitest";
import { createDatabase, databaseTime, query, statement, transaction } from "./index.ts";

type Em = Parameters<typeof transaction>[0];

const one = statement("database-test.one", "select 1 as one");
const lock = statement("database-test.lock", "select pg_advisory_xact_lock(77)");
const clock = statement("database-test.clock", "select clock_timestamp() as now");
const waiting = statement("database-test.waiting", "select count(*)::integer as count from pg_locks where not granted");

test.each([
  ["no use", async () => {}],
  ["a statement", (em: Em) => query(em, one, [])],
  ["a transaction", (em: Em) => transaction(em, (tx) => query(tx, one, []))],
])("close() closes all connections after %s", async (_what, use) => {
  const url = directUrl((await emptyDatabase()).url);
  const database = await createDatabase({ url, schemas: [], applicationName: "closes" });
  await use(database.em());
  await database.close();

  expect(database.pool.ended).toBe(true);
  const watcher = new Client({ connectionString: url });
  await watcher.connect();
  // The server ends a session a moment after its client has closed the connection.
  await expect
    .poll(() => watcher.query("select pid from pg_stat_activity where application_name = 'closes'"))
    .toMatchObject({ rowCount: 0 });
  await watcher.end();
});

test("databaseTime, read after a wait for a lock, is later than a time read by the transaction that held the lock", async () => {
  const database = await createDatabase({ url: directUrl((await emptyDatabase()).url), schemas: [] });
  let second: Promise<Date> | undefined;
  const first = await transaction(database.em(), async (tx) => {
    await query(tx, lock, []);
    second = transaction(database.em(), async (other) => {
      const [, time] = await Promise.all([query(other, lock, []), databaseTime(other)]);
      return time;
    });
    await expect.poll(() => query(database.em(), waiting, [])).toEqual([{ count: 1 }]);
    const [row] = await query<{ now: Date }>(tx, clock, []);
    return row!.now;
  });
  expect((await second!).getTime()).toBeGreaterThanOrEqual(first.getTime());
  await database.close();
});
