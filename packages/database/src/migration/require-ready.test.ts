import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createDatabase,
  type DatabaseOptions,
  defineTable,
  inSchema,
  migrate,
  NotReadyError,
  queue,
  requireReady,
  SchemaElsewhereError,
} from "../index.ts";

const invoices = defineTable<{ id: string }>("pet_shop.invoice", { id: "uuid" });
const reminders = queue<{ invoiceId: string }>("ready-reminders", { retryLimit: 1, expireInSeconds: 60 });
const petShopSchema = {
  name: "pet_shop",
  tables: [invoices],
  migrations: [
    { name: "0001", statements: ["create schema pet_shop", "create table pet_shop.invoice (id uuid primary key)"] },
  ],
  queues: [reminders],
};

let url: string;
let owner: Client;

beforeAll(async () => {
  url = directUrl((await emptyDatabase()).url);
  owner = new Client({ connectionString: url });
  await owner.connect();
});
afterAll(() => owner.end());

/** Calls requireReady on the database, and returns the error or undefined. */
async function errorOn(options: Partial<DatabaseOptions> = {}): Promise<NotReadyError | undefined> {
  const database = await createDatabase({ url, schemas: [petShopSchema], works: true, ...options });
  try {
    await requireReady(database, petShopSchema, { works: true });
    return undefined;
  } catch (error) {
    if (error instanceof NotReadyError) return error;
    throw error;
  } finally {
    await database.close();
  }
}

test("requireReady names what is missing, and the call that adds it, until the database is ready", async () => {
  expect(await errorOn({ schemas: [] })).toMatchObject({
    code: "SCHEMA_NOT_OPENED",
    message:
      "createDatabase was called without the schema pet_shop. Add it: createDatabase({ url, schemas: [petShopSchema], works: true }).",
  });
  expect(await errorOn({ works: false })).toMatchObject({ code: "JOBS_NOT_MAINTAINED" });
  expect(await errorOn()).toMatchObject({
    code: "MIGRATION_MISSING",
    message:
      "The database lacks pet_shop/0001. Migrate it first: migrate({ url, schemas: [petShopSchema], jobs: true }).",
  });
  await migrate({ url, schemas: [petShopSchema] });
  expect(await errorOn()).toMatchObject({
    code: "JOBS_NOT_INSTALLED",
    message: expect.stringContaining("migrate({ url, schemas: [petShopSchema], jobs: true })") as string,
  });
  await migrate({ url, schemas: [petShopSchema], jobs: true });
  expect(await errorOn()).toBeUndefined();
});

test("requireReady says why `migrate` would refuse the schema under another name", async () => {
  await migrate({ url, schemas: [petShopSchema], jobs: true });
  const renamed = inSchema(petShopSchema, "acme_pets");
  expect(await errorOn({ schemas: [renamed] })).toMatchObject({
    code: "MIGRATION_REFUSED",
    message: expect.stringContaining("keep their name: petShopSchema.") as string,
    cause: expect.any(SchemaElsewhereError) as Error,
  });
  expect(await errorOn({ schemas: [inSchema(petShopSchema, "acme_pets", { another: true })] })).toMatchObject({
    code: "MIGRATION_MISSING",
  });
});

test("requireReady names the right that the role lacks, and `migrate` with runtimeUrl grants it", async () => {
  await migrate({ url, schemas: [petShopSchema], jobs: true });
  const role = `ready_${new URL(url).pathname.slice(1)}`;
  await owner.query(`create role ${role} login password 'ready'`);
  const runtime = new URL(url);
  [runtime.username, runtime.password] = [role, "ready"];
  const runtimeUrl = runtime.href;
  try {
    expect(await errorOn({ url: runtimeUrl })).toMatchObject({
      code: "RIGHTS_MISSING",
      message: expect.stringContaining("may not read the list of applied migrations") as string,
    });
    await owner.query(`grant select on collections_migration to ${role}`);
    expect((await errorOn({ url: runtimeUrl }))?.message).toContain(`${role} may not use the schema pet_shop`);
    await owner.query(`grant usage on schema pet_shop to ${role}; grant select, insert on pet_shop.invoice to ${role}`);
    expect((await errorOn({ url: runtimeUrl }))?.message).toBe(
      `The role ${role} may not update rows of pet_shop.invoice. Migrate as the owner of the tables, and pass the URL of this role: migrate({ url: ownerUrl, runtimeUrl: url, schemas: [petShopSchema], jobs: true }).`,
    );
    await migrate({ url, runtimeUrl, schemas: [petShopSchema], jobs: true });
    expect(await errorOn({ url: runtimeUrl })).toBeUndefined();
  } finally {
    await owner.query(`drop owned by ${role}; drop role ${role}`);
  }
});
