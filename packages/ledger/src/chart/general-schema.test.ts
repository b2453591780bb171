import { createDatabase, distributionFaults, migrate, newId, type Table } from "@collections/database";
import { directUrl, emptyDatabase, withoutTriggers } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { invoicing, invoicingDatabaseUrl, SampleBook } from "../../tests/invoicing.ts";
import { DEFAULT_SCHEMA, generalTables } from "./general-schema.ts";

const schemas = [invoicing.schema];
const tables = generalTables(DEFAULT_SCHEMA);
const url = await invoicingDatabaseUrl();
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());

beforeAll(async () => {
  const book = new SampleBook(database);
  await book.invoice(500n);
  await invoicing.extendChain(database.em(), book.id);
});

const TABLES = ["account", "transfer", "chain_block", "posting_key", "hold", "hold_end"];
const CHANGES = [
  ["UPDATE", (table: string) => `update general_ledger.${table} set lender_id = lender_id`],
  ["DELETE", (table: string) => `delete from general_ledger.${table}`],
  ["TRUNCATE", (table: string) => `truncate general_ledger.${table}`],
] as const;

describe.each(TABLES)("general_ledger.%s", (table) => {
  test.each(CHANGES)(
    "rejects %s and says that the table is append-only, even for the table's owner",
    async (act, sql) => {
      // On a cluster, the message contains the name of a shard, such as general_ledger.transfer_102024.
      const message = new RegExp(String.raw`general_ledger\.${table}(_\d+)? is append-only: ${act} is refused`);
      await expect(database.pool.query(sql(table))).rejects.toThrow(message);
    },
  );
});

test("the runtime role of a chart's host may not change a row even if the triggers are disabled", async () => {
  const role = `general_runtime_${newId().slice(-12)}`;
  const { pool } = database;
  const asRole = (text: string) =>
    withoutTriggers(pool, async (client) => {
      await client.query(`set local role ${role}`);
      await client.query(text);
    });
  try {
    await pool.query(`create role ${role} login`);
    const runtimeUrl = new URL(url);
    runtimeUrl.username = role;
    await migrate({ url: directUrl(url), schemas, runtimeUrl: runtimeUrl.href });
    for (const table of TABLES) {
      for (const [, sql] of CHANGES) await expect(asRole(sql(table))).rejects.toThrow("permission denied");
      await asRole(`insert into general_ledger.${table} select * from general_ledger.${table} limit 0`);
    }
  } finally {
    await pool.query(`drop owned by ${role}`);
    await pool.query(`drop role ${role}`);
  }
});

test.each([
  ["account", tables.account],
  ["transfer", tables.transfer],
  ["chain_block", tables.chainBlock],
  ["posting_key", tables.postingKey],
  ["balance_snapshot", tables.balanceSnapshot],
  ["hold", tables.hold],
  ["hold_end", tables.holdEnd],
  ["anchor", tables.anchor],
])("the definition of general_ledger.%s has the columns of the table", async (name, defined) => {
  const { rows } = await database.pool.query<{ name: string; type: string; nullable: boolean }>(
    `select attname as name, format_type(atttypid, atttypmod) as type, not attnotnull as nullable from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [`general_ledger.${name}`],
  );
  const table = defined as unknown as Table<Record<string, unknown>>;
  const types: Readonly<Record<string, string>> = {
    "character(3)": "char(3)",
    "timestamp with time zone": "timestamptz",
  };
  expect(rows.map(({ name, type }) => [name, types[type] ?? type])).toEqual(
    table.properties.map((property) => [table.column(property), table.type(property)]),
  );
  expect(rows.map(({ nullable }) => nullable)).toEqual(table.properties.map((property) => table.isNullable(property)));
});

test("the database of a chart has no table of payment bookings, and its tables can be distributed by book", async () => {
  const at = directUrl((await emptyDatabase()).url);
  await migrate({ url: at, schemas });
  const own = await createDatabase({ url: at, schemas });
  const client = await own.pool.connect();
  const { rows } = await client.query<{ place: string }>(
    `select schemaname || '.' || tablename as place from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  );
  expect(rows.map(({ place }) => place)).toEqual([
    "general_ledger.account",
    "general_ledger.anchor",
    "general_ledger.balance_snapshot",
    "general_ledger.chain_block",
    "general_ledger.hold",
    "general_ledger.hold_end",
    "general_ledger.posting_key",
    "general_ledger.transfer",
    "public.collections_migration",
    "public.collections_migration_digest",
  ]);
  expect(await distributionFaults(client as never, schemas)).toEqual([]);
  client.release();
  await own.close();
});
