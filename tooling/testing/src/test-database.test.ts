import { Client } from "pg";
import { expect, test } from "vitest";
import { testDatabase } from "./index.ts";

const database = await testDatabase("testing_dogs", createDogs);

test("a database has what its template has", async () => {
  expect(await query(database.url, "select name from dogs")).toEqual([{ name: "Rex" }]);
});

test("databases of one template are strangers to each other", async () => {
  const other = await testDatabase("testing_dogs", createDogs);
  expect(other.url).not.toBe(database.url);
  await query(other.url, "delete from dogs");
  expect(await query(database.url, "select name from dogs")).toEqual([{ name: "Rex" }]);
  await other.drop();
});

async function createDogs(url: string): Promise<void> {
  await query(url, "create table dogs as select 'Rex' as name");
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return rows;
}
