import { migrate, type PackageSchema, type Table } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { bookingsSchema } from "@collections/bookings/schema";
import { directUrl, emptyDatabase } from "@collections/testing";
import { webhooksSchema } from "@collections/webhooks/schema";
import type { EntitySchema } from "@mikro-orm/postgresql";
import { expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";

const namesOf = (packages: readonly PackageSchema[]): string[] =>
  packages.flatMap(({ name, migrations }) => migrations.map((step) => `${name}/${step.name}`)).toSorted();

const migrateAll = async (url: string, packages: readonly PackageSchema[]): Promise<string[]> => {
  const { applied, unknown } = await migrate({ url, schemas: packages, jobsSchema, jobs: true });
  expect(unknown).toEqual([]);
  return applied.toSorted();
};

const alone = [bookingsSchema, webhooksSchema];
const others = schemas.filter((schema) => !alone.includes(schema));

test("a database with some packages' schemas gets only the missing migrations of the service", async () => {
  const url = directUrl((await emptyDatabase()).url);
  for (const schema of alone) expect(await migrateAll(url, [schema])).toEqual(namesOf([schema]));
  expect(await migrateAll(url, schemas)).toEqual(namesOf(others));
  await readsAllTables(url);
});

test("migrating a single package changes nothing in a database that the service has migrated", async () => {
  const url = directUrl((await emptyDatabase()).url);
  expect(await migrateAll(url, schemas)).toEqual(namesOf(schemas));
  for (const schema of alone) expect(await migrateAll(url, [schema])).toEqual([]);
  await readsAllTables(url);
});

test("concurrent migrations by packages and the service apply each migration once to an empty database", async () => {
  const url = directUrl((await emptyDatabase()).url);
  const combinations = [schemas, [bookingsSchema], [webhooksSchema], schemas, alone];
  const applied = await Promise.all(combinations.map((packages) => migrateAll(url, packages)));
  expect(applied.flat().toSorted()).toEqual(namesOf(schemas));
  await readsAllTables(url);
});

async function readsAllTables(url: string): Promise<void> {
  const database = await createDatabase({ url, schemas, jobsSchema });
  try {
    for (const entity of schemas.flatMap(({ entities }) => [...(entities ?? [])]) as EntitySchema[]) {
      await expect(database.em().find(entity, {}, { limit: 1 })).resolves.toBeInstanceOf(Array);
    }
    for (const defined of schemas.flatMap(({ tables }) => [...(tables ?? [])])) {
      const table = defined as Table<Record<string, unknown>>;
      await database.pool.query(`select ${table.columnList(table.properties)} from ${table.name} limit 1`);
    }
  } finally {
    await database.close();
  }
}
