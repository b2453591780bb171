import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { expect, test } from "vitest";
import { createDatabase, query, statement, transaction } from "./index.ts";

type Em = Parameters<typeof transaction>[0];

const one = statement("database-test.one", "select 1 as one");

test.each([
  ["nothing", async () => {}],
  ["statements alone", (em: Em) => query(em, one, [])],
  ["a transaction", (em: Em) => transaction(em, (tx) => query(tx, one, []))],
])("closing leaves no connection behind when %s used it", async (_what, use) => {
  const url = directUrl((await emptyDatabase()).url);
  const database = await createDatabase({ url, schemas: [], applicationName: "closes" });
  await use(database.em());
  await database.close();

  expect(database.pool.ended).toBe(true);
  const watcher = new Client({ connectionString: url });
  await watcher.connect();
  // A session ends a moment after its client has said good-bye.
  await expect
    .poll(() => watcher.query("select pid from pg_stat_activity where application_name = 'closes'"))
    .toMatchObject({ rowCount: 0 });
  await watcher.end();
});
