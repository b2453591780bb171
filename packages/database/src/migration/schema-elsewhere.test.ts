import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { inSchema, migrate, type PackageSchema, SchemaElsewhereError } from "../index.ts";

const zoo: PackageSchema = {
  name: "zoo",
  migrations: [
    { name: "0001", statements: ["create schema zoo", "create table zoo.lion (id uuid)"] },
    { name: "0002-names", statements: ["alter table zoo.lion add column name text"] },
  ],
};
const acme = inSchema(zoo, "acme_zoo");

let url: string;
let owner: Client | undefined;
beforeEach(async () => {
  await owner?.end();
  url = directUrl((await emptyDatabase()).url);
  owner = new Client({ connectionString: url });
  await owner.connect();
});
afterAll(() => owner?.end());

async function refused(schema: PackageSchema): Promise<unknown> {
  return migrate({ url, schemas: [schema] }).catch((error: unknown) => error);
}

async function madeIn(schema: string): Promise<boolean> {
  const { rows } = await owner!.query<{ made: boolean }>("select to_regclass($1) is not null as made", [
    `${schema}.lion`,
  ]);
  return rows[0]!.made;
}

describe("migrate with a schema of another name", () => {
  test.each([
    { had: zoo, now: acme, keep: "zooSchema", further: "acme_zoo" },
    { had: acme, now: zoo, keep: 'inSchema(zooSchema, "acme_zoo")', further: "zoo" },
    { had: acme, now: inSchema(acme, "city_zoo"), keep: 'inSchema(zooSchema, "acme_zoo")', further: "city_zoo" },
  ])("refuses $now.name beside $had.name, and changes nothing", async ({ had, now, keep, further }) => {
    await migrate({ url, schemas: [had] });
    const error = await refused(now);
    expect(error).toBeInstanceOf(SchemaElsewhereError);
    expect(error).toMatchObject({
      code: "SCHEMA_ELSEWHERE",
      schema: now.name,
      existing: [had.name],
      message: expect.stringContaining(`keep their name: ${keep}.`) as string,
    });
    expect((error as Error).message).toContain(`say so: inSchema(zooSchema, "${further}", { another: true }).`);
    expect(await madeIn(now.name)).toBe(false);
    expect(await migrate({ url, schemas: [had] })).toEqual({ applied: [], unknown: [] });
  });

  test("refuses both of two calls at once", async () => {
    await migrate({ url, schemas: [zoo] });
    expect(await Promise.all([refused(acme), refused(acme)])).toEqual([
      expect.any(SchemaElsewhereError),
      expect.any(SchemaElsewhereError),
    ]);
    expect(await madeIn("acme_zoo")).toBe(false);
  });

  test("refuses it in a database without digests", async () => {
    await migrate({ url, schemas: [zoo] });
    await owner!.query("drop table collections_migration_digest");
    expect(await refused(acme)).toMatchObject({ code: "SCHEMA_ELSEWHERE", existing: ["zoo"] });
  });

  test.each([
    ["with the option another", [inSchema(zoo, "acme_zoo", { another: true })]],
    ["if both are passed", [zoo, acme]],
  ])("makes further tables %s, and then needs neither", async (_, schemas) => {
    await migrate({ url, schemas: [zoo] });
    expect((await migrate({ url, schemas })).applied).toEqual(["acme_zoo/0001", "acme_zoo/0002-names"]);
    expect(await migrate({ url, schemas: [acme] })).toEqual({ applied: [], unknown: [] });
    expect(await madeIn("acme_zoo")).toBe(true);
  });

  test("accepts a package with other tables and equal names of migrations", async () => {
    await migrate({ url, schemas: [zoo] });
    const migrations = zoo.migrations.map((step) => ({
      ...step,
      statements: step.statements.map((text) => text.replaceAll("zoo", "shop").replaceAll("lion", "dog")),
    }));
    expect((await migrate({ url, schemas: [{ name: "shop", migrations }] })).applied).toHaveLength(2);
  });
});
