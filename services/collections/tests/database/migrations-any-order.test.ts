import { createDatabase, migrate, type PackageSchema } from "@collections/database";
import { ledgerSchema } from "@collections/ledger/schema";
import { directUrl, emptyDatabase } from "@collections/testing";
import { webhooksSchema } from "@collections/webhooks/schema";
import { expect, test } from "vitest";
import { schemas } from "../../src/schemas.ts";

const namesOf = (those: readonly PackageSchema[]): string[] =>
  those.flatMap(({ name, migrations }) => migrations.map((step) => `${name}/${step.name}`)).toSorted();

const bring = async (url: string, those: readonly PackageSchema[]): Promise<string[]> => {
  const { applied, unknown } = await migrate({ url, schemas: those, jobs: true });
  expect(unknown).toEqual([]);
  return applied.toSorted();
};

const alone = [ledgerSchema, webhooksSchema];
const others = schemas.filter((schema) => !alone.includes(schema));

test("a database that has a package already gets the rest of the service, and nothing twice", async () => {
  const url = directUrl((await emptyDatabase()).url);
  for (const schema of alone) expect(await bring(url, [schema])).toEqual(namesOf([schema]));
  expect(await bring(url, schemas)).toEqual(namesOf(others));
  await readsAllTables(url);
});

test("a package finds in the service's database what it would have brought, and leaves the rest alone", async () => {
  const url = directUrl((await emptyDatabase()).url);
  expect(await bring(url, schemas)).toEqual(namesOf(schemas));
  for (const schema of alone) expect(await bring(url, [schema])).toEqual([]);
  await readsAllTables(url);
});

test("packages and the service that start at once on an empty database apply everything once", async () => {
  const url = directUrl((await emptyDatabase()).url);
  const wishes = [schemas, [ledgerSchema], [webhooksSchema], schemas, alone];
  const applied = await Promise.all(wishes.map((those) => bring(url, those)));
  expect(applied.flat().toSorted()).toEqual(namesOf(schemas));
  await readsAllTables(url);
});

async function readsAllTables(url: string): Promise<void> {
  const database = await createDatabase({ url, schemas });
  try {
    for (const entity of schemas.flatMap(({ entities }) => [...entities])) {
      await expect(database.em().find(entity, {}, { limit: 1 })).resolves.toBeInstanceOf(Array);
    }
  } finally {
    await database.close();
  }
}
