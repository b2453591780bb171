import { expect, inject, test } from "vitest";
import { onNode } from "./cluster.ts";
import { emptyDatabase } from "./index.ts";

test("a test database is dropped even if it has an unfinished prepared transaction", async () => {
  const database = await emptyDatabase();
  await onNode(database.url, async (client) => {
    await client.query("begin");
    await client.query("create table dogs (name text)");
    await client.query("prepare transaction 'left behind'");
  });
  await database.drop();
  const name = new URL(database.url).pathname.slice(1);
  const found = await onNode(inject("adminUrl"), (admin) =>
    admin.query("select from pg_database where datname = $1", [name]),
  );
  expect(found.rowCount).toBe(0);
});
