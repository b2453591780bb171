import { expect, test } from "vitest";
import { inSchema, InvalidSchemaNameError, type PackageSchema } from "./index.ts";
import { renamerOf } from "./schema-name.ts";

const shopSchema: PackageSchema = {
  name: "shop",
  entities: [],
  migrations: [{ name: "0001", statements: ["create schema shop", "create table shop.dog (id uuid)"] }],
  appendOnly: ["shop.dog"],
  undistributed: [{ table: "shop.dog", as: "local", because: "few" }],
};

test("inSchema changes the schema's name in migrations and lists of tables", () => {
  expect(inSchema(shopSchema, "acme_shop")).toMatchObject({
    name: "acme_shop",
    renamedFrom: "shop",
    migrations: [{ name: "0001", statements: ["create schema acme_shop", "create table acme_shop.dog (id uuid)"] }],
    appendOnly: ["acme_shop.dog"],
    readOnly: [],
    undistributed: [{ table: "acme_shop.dog" }],
  });
  expect(inSchema(inSchema(shopSchema, "acme_shop"), "other")).toMatchObject({ name: "other", renamedFrom: "shop" });
});

test("inSchema changes the schema's name in the queries of the schema's check", async () => {
  const read: string[] = [];
  const schema = inSchema(
    { ...shopSchema, check: async (query) => void (await query("select from shop.dog")) },
    "acme",
  );
  await schema.check?.(
    async (text) => {
      read.push(text);
      return [];
    },
    { schemas: ["acme"] },
  );
  expect(read).toEqual(["select from acme.dog"]);
});

test.each([
  ['select "s0".* from "shop"."dog" as "s0"', 'select "s0".* from "acme_shop"."dog" as "s0"'],
  ["select shop.dog_digest(d.id) from shop.dog d", "select acme_shop.dog_digest(d.id) from acme_shop.dog d"],
  ["select 'shop.dog'::regclass", "select 'acme_shop.dog'::regclass"],
  ["select workshop.dog, billing.shop.dog, shop_dog, shop from dog", undefined],
  ["select pet.shop.name from billing.pet", undefined],
])("renamerOf with a renamed schema shop changes the SQL text %s to %s", (text, renamed = text) => {
  const rename = renamerOf([inSchema(shopSchema, "acme_shop"), { name: "billing" }]);
  expect(rename(text)).toBe(renamed);
  expect(rename(text)).toBe(renamed);
  expect(renamerOf([shopSchema])(text)).toBe(text);
});

test.each([["Acme"], ["1st"], ["pg_acme"], [""], ["acme.shop"], ['a"b'], ["a".repeat(64)], [undefined]])(
  "inSchema rejects the name %j",
  (name) => {
    expect(() => inSchema(shopSchema, name as string)).toThrow(InvalidSchemaNameError);
  },
);
