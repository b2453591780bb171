import { Client } from "pg";
import { expect, inject, test } from "vitest";
import { directUrl, emptyDatabase, testDatabase } from "./index.ts";

const database = await testDatabase("testing-dogs", createDogs);

test("changes in one test database do not affect other copies of the same template", async () => {
  const other = await testDatabase("testing-dogs", createDogs);
  await query(other.url, "delete from dogs");
  expect(await query(other.url, "select name from dogs")).toEqual([]);
  expect(await query(database.url, "select name from dogs")).toEqual([{ name: "Rex" }]);
});

test("makes a template once, even if several tests request it at the same time", async () => {
  let made = 0;
  const migrate = async (url: string): Promise<void> => {
    made += 1;
    await createDogs(url);
  };
  const databases = await Promise.all([1, 2, 3, 4].map(() => testDatabase("testing-at-once", migrate)));
  expect(made).toBe(1);
  expect(new Set(databases.map(({ url }) => url)).size).toBe(4);
});

test("testDatabase works again after a failed migration", async () => {
  const fails = testDatabase("testing-fails", (url) => query(url, "create nonsense").then(() => {}));
  await expect(fails).rejects.toThrow(/syntax error/);
  const { url } = await testDatabase("testing-fails", createDogs);
  expect(await query(url, "select name from dogs")).toEqual([{ name: "Rex" }]);
});

test("an empty database has no tables, and can be dropped while clients are connected", async () => {
  const database = await emptyDatabase();
  const tables = "select from information_schema.tables where table_schema = 'public'";
  expect(await query(database.url, tables)).toEqual([]);

  const lingering = new Client({ connectionString: directUrl(database.url) });
  const ended = new Promise((resolve) => lingering.once("end", resolve));
  lingering.on("error", () => {});
  await lingering.connect();
  await database.drop();
  await ended;
  expect(await exists(directUrl(database.url))).toBe(false);
});

async function createDogs(url: string): Promise<void> {
  await query(url, "create table dogs as select 'Rex' as name");
}

async function exists(url: string): Promise<boolean> {
  const found = await query(inject("adminUrl"), "select from pg_database where datname = $1", [
    new URL(url).pathname.slice(1),
  ]);
  return found.length > 0;
}

async function query(url: string, text: string, values: string[] = []): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
