import { migrate, newId, type PackageSchema, transaction } from "@collections/database";
import { afterFile, emptyDatabase } from "@collections/testing";
import { defineEntity, p } from "@mikro-orm/core";
import { expect, test } from "vitest";
import { createDatabase } from "./index.ts";

const Plumber = defineEntity({
  name: "Plumber",
  schema: "market",
  tableName: "plumber",
  properties: { id: p.uuid().primary(), name: p.text() },
});
const Visit = defineEntity({
  name: "PlumberVisit",
  schema: "market",
  tableName: "visit",
  properties: { id: p.uuid().primary(), plumber: () => p.manyToOne(Plumber) },
});
const Fee = defineEntity({
  name: "Fee",
  schema: "market",
  tableName: "fee",
  properties: { id: p.uuid().primary(), minor: p.bigint() },
});

const statements = [
  "create schema market",
  "create table market.plumber (id uuid primary key, name text not null)",
  "create table market.visit (id uuid primary key, plumber_id uuid not null)",
  "create table market.fee (id uuid primary key, minor bigint not null)",
];

async function opened(entities: NonNullable<PackageSchema["entities"]>) {
  const schemas: PackageSchema[] = [{ name: "market", entities, migrations: [{ name: "0001", statements }] }];
  const { url } = await emptyDatabase();
  await migrate({ url, schemas });
  const database = await createDatabase({ url, schemas });
  afterFile(() => database.close());
  const discovered = () => [...database.em().getMetadata()].map(({ className }) => className).toSorted();
  return { database, discovered };
}

test("only the entities that are used are discovered", async () => {
  const { database, discovered } = await opened([Plumber, Fee]);
  expect(discovered()).toEqual([]);
  const id = newId();
  await transaction(database.em(), async (tx) => {
    tx.create(Fee, { id, minor: 9_007_199_254_740_993n });
    await tx.flush();
  });
  expect(discovered()).toEqual(["Fee"]);
  expect(await database.em().findOne(Fee, { id })).toMatchObject({ minor: 9_007_199_254_740_993n });
});

test("two readers and a query builder find an entity at once", async () => {
  const { database, discovered } = await opened([Plumber, Fee]);
  const [byClass, built, counted] = await Promise.all([
    database.em().find(Plumber.meta.class, {}),
    database.em().createQueryBuilder(Plumber).select("id").execute(),
    database.em().count(Plumber),
  ]);
  expect([byClass, built, counted, discovered()]).toEqual([[], [], 0, ["Plumber"]]);
});

test("entities with relations are all discovered at once", async () => {
  const { database, discovered } = await opened([Visit, Fee, Plumber]);
  expect(discovered()).toEqual(["Fee", "Plumber", "PlumberVisit"]);
  const [id, plumber] = [newId(), newId()];
  await transaction(database.em(), async (tx) => {
    tx.create(Visit, { id, plumber: tx.create(Plumber, { id: plumber, name: "Asha" }) });
    await tx.flush();
  });
  const visit = await database.em().findOne(Visit, { id }, { populate: ["plumber"] });
  expect(visit?.plumber).toMatchObject({ id: plumber, name: "Asha" });
});

test("an entity that no schema names is refused when it is used", async () => {
  const { database } = await opened([Plumber]);
  await expect(database.em().find(Fee, {})).rejects.toThrow(/^No schema of this database has the entity Fee\. Add it/);
});

test("an entity that cannot be discovered gives the same error each time", async () => {
  const Keyless = defineEntity({
    name: "Keyless",
    schema: "market",
    tableName: "fee",
    properties: { minor: p.bigint() },
  });
  const { database } = await opened([Keyless, Plumber]);
  const read = () => database.em().find(Keyless, {});
  await expect(read()).rejects.toThrow("Keyless entity is missing @PrimaryKey()");
  await expect(read()).rejects.toThrow("Keyless entity is missing @PrimaryKey()");
  expect(await database.em().find(Plumber, {})).toEqual([]);
});
