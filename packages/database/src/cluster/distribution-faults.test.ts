import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { distributionFaults } from "../index.ts";

const schema = {
  name: "shop",
  entities: [],
  migrations: [],
  undistributed: [
    { table: "shop.country", as: "reference" as const, because: "read everywhere" },
    { table: "shop.visitor", as: "local" as const, because: "visitors belong to no lender" },
  ],
};

let client: Client;

beforeAll(async () => {
  const { url } = await emptyDatabase();
  client = new Client({ connectionString: directUrl(url) });
  await client.connect();
  await client.query(`create schema shop;
    create table shop.country (code text primary key);
    create table shop.visitor (id uuid primary key);
    create table shop.orders (lender_id uuid, id uuid, country text references shop.country, made_at timestamptz default now(),
      primary key (lender_id, id));
    create table shop.line (lender_id uuid, id uuid, order_id uuid, primary key (lender_id, id),
      foreign key (lender_id, order_id) references shop.orders (lender_id, id) on delete cascade);
    create table shop.log (lender_id uuid, id uuid, primary key (lender_id, id)) partition by range (id);
    create table shop.log_first partition of shop.log default`);
});

afterAll(() => client.end());

/** Runs the statements, lists the faults of the changed tables, and rolls the statements back. */
async function faultsAfter(statements: string): Promise<string[]> {
  await client.query(`begin; ${statements}`);
  try {
    return await distributionFaults(client, [schema]);
  } finally {
    await client.query("rollback");
  }
}

test("distributionFaults accepts tables with lender_id in every key, and tables listed in undistributed", async () => {
  expect(await faultsAfter("")).toEqual([]);
});

describe("distributionFaults", () => {
  test.each([
    ["create table shop.stray (id uuid primary key)", /^shop\.stray has no lender_id: name it in undistributed/],
    ["drop table shop.visitor", /^shop\.visitor is named in undistributed, but there is no such table/],
    ["create table shop.heap (lender_id uuid)", /^shop\.heap has no primary key/],
    ["create table shop.late (id uuid, lender_id uuid, primary key (id, lender_id))", /shop\.late_pkey does not begin/],
    ["alter table shop.line add column number int unique", /^shop\.line: the unique index shop\.line_number_key does/],
    ["create unique index on shop.orders (country, lender_id)", /^shop\.orders: .*idx does not begin with lender_id/],
    ["alter table shop.line add exclude (id with =)", /^shop\.line: line_id_excl is an exclusion constraint/],
    [
      "alter table shop.line add foreign key (order_id, lender_id) references shop.orders (id, lender_id)",
      /^shop\.line: the foreign key line_order_id_lender_id_fkey does not begin with lender_id in both tables/,
    ],
    [
      "alter table shop.line add foreign key (order_id) references shop.visitor",
      /order_id_fkey refers to shop\.visitor/,
    ],
    ["alter table shop.visitor add home text references shop.country", /home_fkey refers to shop\.country/],
    [
      `alter table shop.line add column parent uuid,
         add foreign key (lender_id, parent) references shop.line on delete set null (parent)`,
      /^shop\.line: the foreign key line_lender_id_parent_fkey has SET NULL or SET DEFAULT/,
    ],
    [
      `alter table shop.orders drop constraint orders_country_fkey,
         add foreign key (country) references shop.country on update set default`,
      /^shop\.orders: the foreign key orders_country_fkey has SET NULL or SET DEFAULT/,
    ],
    ["alter table shop.line add number int, add unique (lender_id, number) deferrable", /_key is deferrable/],
    [
      `create function shop.look() returns trigger language plpgsql as 'begin return null; end';
       create constraint trigger looks after insert on shop.line deferrable for each row execute function shop.look()`,
      /^shop\.line: the constraint looks is deferrable/,
    ],
    ["alter table shop.line add number bigserial", /^shop\.line\.number takes its values from a sequence/],
    [
      "alter table shop.line add number int generated always as identity",
      /^shop\.line\.number takes its values from a sequence/,
    ],
    [
      "alter table shop.line alter id set default gen_random_uuid()",
      /^shop\.line\.id: its default gen_random_uuid\(\)/,
    ],
    [
      "alter table shop.line add at timestamptz default clock_timestamp()",
      /its default clock_timestamp\(\) is volatile/,
    ],
    ["create rule silent as on delete to shop.line do instead nothing", /^shop\.line: the rule silent rewrites/],
  ])("lists the fault caused by: %s", async (statements, fault) => {
    const faults = await faultsAfter(statements);
    expect(faults).toEqual([expect.stringMatching(fault)]);
  });
});

test("distributionFaults names every table in a cycle of foreign keys, because none can be distributed first", async () => {
  const faults = await faultsAfter(`alter table shop.orders add column first_line uuid,
    add foreign key (lender_id, first_line) references shop.line (lender_id, id)`);
  expect(faults).toEqual([
    expect.stringMatching(/^shop\.line is in a cycle of foreign keys/),
    expect.stringMatching(/^shop\.orders is in a cycle of foreign keys/),
  ]);
});
