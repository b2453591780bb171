import { withoutTriggers } from "@collections/testing";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ChartProblemCode, LedgerProblem } from "../index.ts";
import { invoicing, invoicingDatabase, SampleBook } from "../../tests/invoicing.ts";

const database = await invoicingDatabase();

/** Runs queries as a superuser with triggers disabled. */
const forger = {
  query: <Row extends object>(text: string, values: unknown[] = []) =>
    withoutTriggers(database.pool, (client) => client.query<Row>(text, values)),
};
let book: SampleBook;

/** Drops all CHECK constraints, so that the tests can write forged rows that violate them. */
beforeAll(async () => {
  const { rows } = await database.pool.query<{ drop: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop
     from pg_constraint where contype = 'c' and connamespace = 'general_ledger'::regnamespace`,
  );
  for (const { drop } of rows) await database.pool.query(drop);
});

beforeEach(async () => {
  book = new SampleBook(database);
  await book.invoice(500n, 700n);
  await extend();
  await book.invoice(900n);
  await extend();
});
afterEach(async () => {
  for (const table of ["account", "transfer", "chain_block"]) await forger.query(`delete from general_ledger.${table}`);
});

const extend = () => invoicing.extendChain(database.em(), book.id);

async function problems(): Promise<readonly LedgerProblem<ChartProblemCode>[]> {
  return (await invoicing.verify(database.em())).problems;
}

/** For each type of column, the SQL that makes the smallest possible change to a value. */
const SMALLEST_CHANGE: Readonly<Record<string, (column: string) => string>> = {
  uuid: (column) => `coalesce(overlay(${column}::text placing
    to_hex(get_byte(decode('0' || right(${column}::text, 1), 'hex'), 0) # 1) from 36),
    '00000000-0000-7000-8000-000000000001')::uuid`,
  text: (column) => `left(${column}, -1) || chr(ascii(right(${column}, 1)) # 1)`,
  "character(3)": (column) => `left(${column}, -1) || chr(ascii(right(${column}, 1)) # 1)`,
  bigint: (column) => `${column} + 1`,
  integer: (column) => `${column} + 1`,
  "timestamp with time zone": (column) => `${column} + interval '1 microsecond'`,
  bytea: (column) => `set_byte(${column}, 31, get_byte(${column}, 31) # 1)`,
  jsonb: (column) => `coalesce(${column}, '{}') || '{"forged": true}'`,
  "uuid[]": (column) => `${column}[2:]`,
};

/** Replaces one row with a copy in which one column is changed, and returns the changed row. */
async function changeRow(table: string, key: string, value: unknown, changed: string): Promise<{ lenderId: string }> {
  const { rows: columns } = await forger.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [`general_ledger.${table}`],
  );
  const values = columns.map(({ name, type }) => (name === changed ? SMALLEST_CHANGE[type]!(name) : name));
  await forger.query(
    `create table general_ledger.original as select * from general_ledger.${table} where ${key} = $1`,
    [value],
  );
  await forger.query(`delete from general_ledger.${table} where ${key} = $1`, [value]);
  const names = columns.map(({ name }) => name).join(", ");
  const { rows } = await forger.query<{ lenderId: string }>(
    `insert into general_ledger.${table} (${names}) select ${values.join(", ")} from general_ledger.original
     returning *, lender_id as "lenderId"`,
  );
  return rows[0]!;
}

async function restoreRow(table: string, key: string, changed: unknown): Promise<void> {
  await forger.query(`delete from general_ledger.${table} where ${key} = $1`, [changed]);
  await forger.query(`insert into general_ledger.${table} table general_ledger.original`);
  await forger.query("drop table general_ledger.original");
}

test("verify reports no problem in the unchanged books of a chart", async () => {
  expect(await invoicing.verify(database.em())).toEqual({
    ok: true,
    counts: { books: 1, accounts: 2n, transfers: 3n, blocks: 2n },
    trialBalance: [{ currency: "EUR", debitMinor: 2_100n, creditMinor: 2_100n }],
    problems: [],
    totalProblems: 0n,
  });
});

const TRANSFER_COLUMNS =
  "lender_id, id, debit_account, credit_account, amount_minor, currency, kind, subject_id, corrects, memo, effective_at, recorded_at, metadata, digest";

test.each(TRANSFER_COLUMNS.split(", "))(
  "verify finds the smallest change of a chart's transfer in the column %s",
  async (column) => {
    const { rows } = await forger.query<{ id: string }>("select id from general_ledger.transfer order by id limit 1");
    const forged = (await changeRow("transfer", "id", rows[0]!.id, column)) as { id: string; lenderId: string };
    const found = { code: "CONTENT_CHANGED", table: "transfer", id: forged.id, book: forged.lenderId };
    expect(await problems()).toContainEqual(expect.objectContaining(found));
    await restoreRow("transfer", "id", forged.id);
    expect(await problems()).toEqual([]);
  },
);

const BLOCK_COLUMNS = "lender_id, number, transfer_ids, row_count, rows_hash, previous_hash, last_id, created_at, hash";

test.each(BLOCK_COLUMNS.split(", "))(
  "verify finds the smallest change of a chart's block in the column %s",
  async (column) => {
    const forged = (await changeRow("chain_block", "number", 2, column)) as { number: string; lenderId: string };
    expect((await problems()).filter(({ table }) => table === "chain_block")).not.toEqual([]);
    await restoreRow("chain_block", "number", forged.number);
    expect(await problems()).toEqual([]);
  },
);

/** Recomputes the digests of all transfers, so that each row matches its digest. */
function recomputeDigests(): Promise<unknown> {
  const columns = TRANSFER_COLUMNS.replace(", digest", "");
  return forger.query(`update general_ledger.transfer set digest = general_ledger.transfer_digest(${columns})`);
}

describe("verify of a chart reports", () => {
  test("a deleted transfer that was chained", async () => {
    await forger.query("delete from general_ledger.transfer where amount_minor = 700");
    expect((await problems()).map(({ code }) => code)).toEqual(["ROW_MISSING", "BLOCK_MISMATCH"]);
  });

  test("a deleted account, because its transfers still exist", async () => {
    await forger.query("delete from general_ledger.account where kind = 'revenue'");
    const codes = new Set((await problems()).map(({ code }) => code));
    expect(codes).toEqual(new Set(["UNBALANCED", "ACCOUNT_MISSING"]));
  });

  test("a correction of a transfer that does not exist", async () => {
    const { rows } = await forger.query<{ id: string }>(
      `insert into general_ledger.transfer
       select lender_id, gen_random_uuid(), debit_account, credit_account, 1, currency, 'correction', null,
         gen_random_uuid(), 'Wrong customer', now(), now(), ''::bytea
       from general_ledger.transfer limit 1 returning id`,
    );
    await recomputeDigests();
    const found = { code: "CORRECTS_NOTHING", id: rows[0]!.id };
    expect(await problems()).toContainEqual(expect.objectContaining(found));
  });

  test("a forged transfer with a recomputed digest, because it differs from its block", async () => {
    await forger.query("update general_ledger.transfer set memo = 'Barn' where amount_minor = 700");
    await recomputeDigests();
    expect((await problems()).map(({ code }) => code)).toEqual(["BLOCK_MISMATCH"]);
  });
});
