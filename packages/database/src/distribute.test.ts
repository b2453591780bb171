import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { distribute, type PackageSchema } from "./index.ts";

const schema: PackageSchema = {
  name: "shop",
  entities: [],
  migrations: [],
  undistributed: [
    { table: "shop.country", as: "reference", because: "read everywhere" },
    { table: "shop.visitor", as: "local", because: "nobody's" },
  ],
};
const schemas = [schema];
const ORDERED = [
  "set citus.enable_unsafe_triggers = on",
  "select create_reference_table('shop.country')",
  "select create_distributed_table('shop.product', 'lender_id', colocate_with => 'none')",
  "select create_distributed_table('shop.an_order', 'lender_id', colocate_with => 'shop.product')",
  "select create_distributed_table('shop.a_line', 'lender_id', colocate_with => 'shop.product')",
];

let url: string;
let client: Client;

beforeAll(async () => {
  url = directUrl((await emptyDatabase()).url);
  client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`create schema shop;
    create table shop.country (code text primary key);
    create table shop.visitor (id uuid primary key);
    create table shop.product (lender_id uuid, id uuid, parent uuid, primary key (lender_id, id),
      foreign key (lender_id, parent) references shop.product);
    create table shop.an_order (lender_id uuid, id uuid, product uuid, country text references shop.country,
      primary key (lender_id, id), foreign key (lender_id, product) references shop.product);
    create table shop.a_line (lender_id uuid, id uuid, ordered uuid, primary key (lender_id, id),
      foreign key (lender_id, ordered) references shop.an_order)`);
});

afterAll(() => client.end());

test("a rehearsal tells what would be sent: each table behind those that it refers to, all lenders' tables together", async () => {
  expect(await distribute({ url, schemas, dryRun: true })).toEqual({ citus: undefined, statements: ORDERED });
});

test("nothing is sent where Citus is not installed", async () => {
  expect(await distribute({ url, schemas })).toEqual({ citus: undefined, statements: [] });
});

test("what cannot be distributed is not begun with", async () => {
  const other = { ...schema, undistributed: [] };
  await expect(distribute({ url, schemas: [other], dryRun: true })).rejects.toMatchObject({
    code: "NOT_DISTRIBUTABLE",
    faults: expect.arrayContaining([
      "shop.visitor has no lender_id: name it in undistributed, with the reason",
    ]) as string[],
  });
});

test("it goes on where an earlier call broke off or left a table out, and then has nothing to do", async () => {
  await standInForCitus();
  await client.query("create table shop.held (id int); insert into refused values ('shop.a_line')");
  const stillOurs = {
    ...schema,
    undistributed: [...schema.undistributed!, { ...schema.undistributed![1]!, table: "shop.held" }],
  };
  await expect(distribute({ url, schemas: [stillOurs] })).rejects.toThrow("refused");
  await client.query("delete from refused");
  expect(await distribute({ url, schemas: [stillOurs] })).toEqual({
    citus: "0.0",
    statements: [ORDERED[0], ORDERED[4]],
  });
  expect(await distribute({ url, schemas: [stillOurs] })).toEqual({ citus: "0.0", statements: [] });
  await client.query("create table shop.later (lender_id uuid, id uuid, primary key (lender_id, id))");
  expect(await distribute({ url, schemas: [stillOurs] })).toMatchObject({
    statements: [
      ORDERED[0],
      "select create_distributed_table('shop.later', 'lender_id', colocate_with => 'shop.product')",
    ],
  });
});

test("reference tables are completed at each call, and not in a rehearsal", async () => {
  const held = { ...schema.undistributed![1]!, table: "shop.held" };
  const beforeDistribution = ["insert into shop.country values ('IN') on conflict do nothing"];
  const completed = [{ ...schema, undistributed: [...schema.undistributed!, held], beforeDistribution }];
  const countries = async () => (await client.query("select code from shop.country")).rows;
  await distribute({ url, schemas: completed, dryRun: true });
  expect(await countries()).toEqual([]);
  for (const _ of ["first", "again"]) expect((await distribute({ url, schemas: completed })).statements).toEqual([]);
  expect(await countries()).toEqual([{ code: "IN" }]);
});

test("two releases at once send each statement once", async () => {
  await client.query("create table shop.newest (lender_id uuid, id uuid, primary key (lender_id, id))");
  const held = { ...schema.undistributed![1]!, table: "shop.held" };
  const now = [{ ...schema, undistributed: [...schema.undistributed!, held] }];
  const both = await Promise.all([distribute({ url, schemas: now }), distribute({ url, schemas: now })]);
  expect(both.flatMap(({ statements }) => statements)).toHaveLength(2);
});

test("what Citus only knows of is left to do, and what it has elsewhere than declared is named", async () => {
  const held = { ...schema.undistributed![1]!, table: "shop.held" };
  const now = [{ ...schema, undistributed: [...schema.undistributed!, held] }];
  await placeAs("shop.a_line", "n", "s");
  expect(await distribute({ url, schemas: now, dryRun: true })).toMatchObject({
    statements: [ORDERED[0], ORDERED[4]],
  });
  await placeAs("shop.a_line", "n", "t");
  await placeAs("shop.country", "h", "s");
  await client.query("insert into pg_dist_partition values ('shop.visitor', 'n', 't')");
  await expect(distribute({ url, schemas: now })).rejects.toMatchObject({
    faults: [
      "shop.country is declared as reference, and Citus has it as lender: take that back with undistribute_table",
      "shop.visitor is declared as local, and Citus has it as reference: take that back with undistribute_table",
      "shop.a_line is declared as lender, and Citus has it as reference: take that back with undistribute_table",
    ],
  });
});

async function placeAs(table: string, method: string, model: string): Promise<void> {
  await client.query("update pg_dist_partition set partmethod = $2, repmodel = $3 where logicalrelid = $1::regclass", [
    table,
    method,
    model,
  ]);
}

/**
 * Not Citus: two functions that write down what they were called with, in the table that Citus has for it. They show
 * that the calls can be parsed and repeated, and nothing of what Citus would do.
 */
async function standInForCitus(): Promise<void> {
  await client.query(`
    insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      values (999999, 'citus', 10, 11, false, '0.0');
    create table refused (name text);
    create table public.pg_dist_partition (logicalrelid regclass primary key, partmethod "char", repmodel "char");
    create function create_reference_table(relation regclass) returns void language sql
      as $$ insert into pg_dist_partition values (relation, 'n', 't') $$;
    create function create_distributed_table(relation regclass, distributed_by text, colocate_with text) returns void
      language plpgsql as $$
      begin
        perform pg_sleep(0.1);
        if exists (select from refused where name = relation::text) then raise 'refused'; end if;
        insert into pg_dist_partition values (relation, 'h', 's');
      end $$`);
}
