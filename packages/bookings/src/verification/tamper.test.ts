import { newId } from "@collections/database";
import type { LedgerProblem } from "@collections/ledger";
import { withoutTriggers } from "@collections/testing";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type BookingProblemCode,
  collectionsLedger,
  type CommissionProblemCode,
  type ReversalProblemCode,
} from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";

const database = await bookingsDatabase();

/** Runs queries as a superuser with triggers disabled. */
const forger = {
  query: <Row extends object>(text: string, values: unknown[] = []) =>
    withoutTriggers(database.pool, (client) => client.query<Row>(text, values)),
};
let sample: SampleCase;

/** Drops all CHECK constraints, so that the tests can write forged rows that violate them. */
beforeAll(async () => {
  const { rows } = await database.pool.query<{ drop: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop
     from pg_constraint where contype = 'c' and connamespace = 'ledger'::regnamespace`,
  );
  for (const { drop } of rows) await database.pool.query(drop);
});

beforeEach(async () => {
  sample = new SampleCase(newId()).place(100_000n).pay(40_000n).adjust(-500n).pay(70_000n, { earnedMinor: 1_488n });
  await writeBooks(database, [sample]);
});
// Uses DELETE, because with triggers disabled a TRUNCATE of a distributed table does not empty its shards.
afterEach(async () => {
  for (const table of ["account", "transfer", "payment_booking", "payment_reversal", "chain_block"]) {
    await forger.query(`delete from ledger.${table}`);
  }
});

type Problem = LedgerProblem<BookingProblemCode | CommissionProblemCode | ReversalProblemCode>;

async function problems(): Promise<Problem[]> {
  const { ok, problems, totalProblems } = await collectionsLedger.verify(database.em(), { now: NOW });
  expect([ok, totalProblems]).toEqual([problems.length === 0, BigInt(problems.length)]);
  return [...problems];
}

const chain = () => collectionsLedger.extendChain(database.em(), sample.lenderId, { now: NOW });

async function columnsOf(table: string): Promise<{ name: string; type: string }[]> {
  const { rows } = await forger.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [`ledger.${table}`],
  );
  return rows;
}

/** For each type of column, the SQL that makes the smallest possible change to a value. */
const SMALLEST_CHANGE: Readonly<Record<string, (column: string) => string>> = {
  uuid: (column) => `coalesce(overlay(${column}::text placing
    to_hex(get_byte(decode('0' || right(${column}::text, 1), 'hex'), 0) # 1) from 36), '${newId()}')::uuid`,
  text: (column) => `coalesce(left(${column}, -1) || chr(ascii(right(${column}, 1)) # 1), 'x')`,
  "character(3)": (column) => `left(${column}, -1) || chr(ascii(right(${column}, 1)) # 1)`,
  bigint: (column) => `coalesce(${column}, 0) + 1`,
  integer: (column) => `${column} + 1`,
  "timestamp with time zone": (column) => `${column} + interval '1 microsecond'`,
  jsonb: () => `'[{}]'`,
  bytea: (column) => `set_byte(${column}, 31, get_byte(${column}, 31) # 1)`,
  "uuid[]": (column) => `${column}[2:]`,
};

function smallestChange({ name, type }: { name: string; type: string }): string {
  const change = SMALLEST_CHANGE[type];
  if (!change) throw new Error(`This test cannot change a column of type ${type}. Add the type to SMALLEST_CHANGE.`);
  return change(name);
}

/**
 * Replaces a row with a copy from `ledger.original` in which one column is changed, and returns the new row. It does not
 * use UPDATE, because on Citus an UPDATE cannot change the lender of a row.
 */
async function changeRow<Row extends object>(
  table: string,
  changed: { name: string; type: string },
  key: string,
  value: unknown,
): Promise<Row> {
  const columns = (await columnsOf(table)).map(({ name }) => name);
  const values = columns.map((name) => (name === changed.name ? smallestChange(changed) : name));
  await forger.query(`delete from ledger.${table} where ${key} = $1`, [value]);
  const { rows } = await forger.query<Row>(
    `insert into ledger.${table} (${columns.join(", ")})
     select ${values.join(", ")} from ledger.original where ${key} = $1 returning *, lender_id as "lenderId"`,
    [value],
  );
  return rows[0]!;
}

test("verify reports no problem in an unchanged ledger", async () => {
  await chain();
  expect(await collectionsLedger.verify(database.em(), { now: NOW })).toMatchObject({
    ok: true,
    counts: { books: 1, accounts: 8n, transfers: 7n, bookings: 2n, reversals: 0n, blocks: 1n },
    trialBalance: [{ currency: "INR", debitMinor: 213_476n, creditMinor: 213_476n }],
    problems: [],
  });
});

describe.each(["transfer", "payment_booking"])("verify finds the smallest change of a %s", (table) => {
  test("in every column, and reports the row", async () => {
    await chain();
    const { rows } = await forger.query<{ id: string }>(`select id from ledger.${table} order by id`);
    const missed: string[] = [];
    for (const [index, column] of (await columnsOf(table)).entries()) {
      await forger.query("create table if not exists ledger.original as table ledger." + table);
      const target = rows[index % rows.length]!.id;
      const forged = await changeRow<{ id: string; lenderId: string }>(table, column, "id", target);
      const { id, lenderId } = forged;
      const names = (problem: Problem) =>
        problem.code === "CONTENT_CHANGED" && problem.table === table && problem.id === id && problem.book === lenderId;
      if (!(await problems()).some(names)) missed.push(column.name);
      await forger.query(`delete from ledger.${table}`);
      await forger.query(`insert into ledger.${table} table ledger.original`);
    }
    await forger.query("drop table ledger.original");
    expect(missed).toEqual([]);
    expect(await problems()).toEqual([]);
  });
});

test("verify finds a character that was moved from one column to the next", async () => {
  await forger.query(
    `update ledger.payment_booking set mode = left(mode, -1), raw_mode = right(mode, 1) || raw_mode where sequence = 2`,
  );
  expect(await problems()).toContainEqual(
    expect.objectContaining({ code: "CONTENT_CHANGED", table: "payment_booking" }),
  );
});

test("verify finds the smallest change of a chain block in every column, and reports the block", async () => {
  await chain();
  await writeBooks(database, [sample.pay(5n).reverse(2n)]);
  await chain();
  const missed: string[] = [];
  for (const column of await columnsOf("chain_block")) {
    await forger.query("create table ledger.original as table ledger.chain_block");
    await changeRow("chain_block", column, "number", 2);
    const blocks = (await problems()).filter(({ table }) => table === "chain_block").map(({ id }) => id);
    if (!blocks.includes(column.name === "number" ? "3" : "2")) missed.push(column.name);
    await forger.query("delete from ledger.chain_block");
    await forger.query("insert into ledger.chain_block table ledger.original");
    await forger.query("drop table ledger.original");
  }
  expect(missed).toEqual([]);
});

describe("a deleted row", () => {
  test.each(["transfer", "payment_booking"])("is reported if it was a chained %s", async (table) => {
    await chain();
    const { rows } = await forger.query<{ id: string }>(`select id from ledger.${table}`);
    for (const { id } of rows) {
      await forger.query(`create table ledger.original as select * from ledger.${table} where id = $1`, [id]);
      await forger.query(`delete from ledger.${table} where id = $1`, [id]);
      const missing = { code: "ROW_MISSING", table, id, book: sample.lenderId };
      expect(await problems()).toContainEqual(expect.objectContaining(missing));
      await forger.query(`insert into ledger.${table} table ledger.original`);
      await forger.query("drop table ledger.original");
    }
  });

  test("is reported if it was a booking that was not chained yet, because its transfers still exist", async () => {
    const { rows } = await forger.query<{ id: string }>(
      "delete from ledger.payment_booking where sequence = 2 returning id",
    );
    expect(await problems()).toContainEqual(expect.objectContaining({ code: "BOOKING_MISSING", id: rows[0]!.id }));
  });

  test("is reported if it was a payment's transfer, because the booking no longer matches its transfers", async () => {
    const [first, second] = await forger
      .query<{ id: string }>("delete from ledger.transfer where kind = 'payment' returning booking_id as id")
      .then(({ rows }) => rows.map(({ id }) => id).sort());
    const found = (await problems()).map(({ code, id }) => `${code} ${id}`);
    expect(found).toContain(`TRANSFERS_MISSING ${first}`);
    expect(found).toContain(`BOOKING_UNLIKE_TRANSFERS ${second}`);
  });

  test("is reported if it was a placement, because the receivable becomes negative", async () => {
    await forger.query("delete from ledger.transfer where kind = 'placement'");
    const codes = (await problems()).map(({ code }) => code);
    expect(codes).toContain("RECEIVABLE_NEGATIVE");
    expect(codes).toContain("OUTSTANDING_MISMATCH");
  });

  test("is reported if it was an account, because its transfers still exist", async () => {
    await forger.query("delete from ledger.account where kind = 'settled_direct'");
    const codes = new Set((await problems()).map(({ code }) => code));
    expect(codes).toEqual(new Set(["ACCOUNT_MISSING", "UNBALANCED"]));
  });

  test("is reported if it was a block of the chain, because the next block contains its hash", async () => {
    await chain();
    await writeBooks(database, [sample.pay(5n)]);
    await chain();
    await forger.query("delete from ledger.chain_block where number = 1");
    expect(await problems()).toContainEqual(expect.objectContaining({ code: "CHAIN_BROKEN", id: "2" }));
  });
});

describe("a forged row with a recomputed digest", () => {
  /** Changes rows and recomputes all digests of the table, so that each row matches its digest. */
  async function forge(table: string, set: string, where: string): Promise<void> {
    const columns = (await columnsOf(table)).map(({ name }) => name).filter((name) => name !== "digest");
    await forger.query(`update ledger.${table} set ${set} where ${where}`);
    await forger.query(`update ledger.${table} set digest = ledger.${table}_digest(${columns.join(", ")})`);
  }
  const codesOf = async () => (await problems()).map(({ code }) => code);

  test("is reported because it differs from its block, even if all amounts are consistent", async () => {
    await chain();
    await forge("payment_booking", "reference = 'pay_forged'", "sequence = 2");
    expect(await codesOf()).toEqual(["BLOCK_MISMATCH"]);
  });

  test("is reported if it is a booking that differs from its transfers", async () => {
    await forge(
      "payment_booking",
      "amount_minor = amount_minor + 1, applied_minor = applied_minor + 1",
      "sequence = 4",
    );
    expect(await codesOf()).toEqual(["BOOKING_UNLIKE_TRANSFERS", "TOTAL_COLLECTED_MISMATCH"]);
  });

  test("is reported if its outstanding amount differs from the running balance of the case", async () => {
    await forge("payment_booking", "outstanding_after_minor = outstanding_after_minor + 1", "sequence = 2");
    expect(await codesOf()).toEqual(["OUTSTANDING_MISMATCH"]);
  });

  test("is reported if its cycle is higher than the cycle of a later booking", async () => {
    await forge("payment_booking", "cycle = 2", "sequence = 2");
    expect(await codesOf()).toEqual(["SEQUENCE_NOT_RISING"]);
  });

  test("is reported if it is an account in another currency than its transfers", async () => {
    await forger.query("update ledger.account set currency = 'USD' where kind = 'excess'");
    expect(await codesOf()).toEqual(["UNBALANCED", "UNBALANCED", "CURRENCY_MISMATCH"]);
  });

  test("is reported if it is a correction of a transfer that does not exist", async () => {
    await forge("transfer", `kind = 'correction', corrects = '${newId()}'`, "kind = 'adjustment'");
    expect(await codesOf()).toEqual(["CORRECTS_NOTHING"]);
  });
});

test("the digest does not depend on session settings", async () => {
  const client = await database.pool.connect();
  const digests = async () =>
    (
      await client.query(
        "select ledger.transfer_digest(lender_id, id, debit_account, credit_account, amount_minor, currency, kind," +
          " case_id, booking_id, corrects, sequence, memo, effective_at, recorded_at) as digest from ledger.transfer" +
          " order by id",
      )
    ).rows;
  // On a cluster, this setting makes Citus apply the following settings on all nodes.
  await client.query("begin; set local citus.propagate_set_commands = 'local'");
  const before = await digests();
  await client.query(`set local timezone = 'Asia/Kolkata'; set local datestyle = 'German';
    set local intervalstyle = 'iso_8601'; set local extra_float_digits = -15; set local bytea_output = 'escape';
    set local standard_conforming_strings = off`);
  expect(await digests()).toEqual(before);
  client.release(true);
});

test("verify counts all problems and lists the first 1,000", async () => {
  for (let line = 0; line < 1_200; line += 1) sample.adjust(1n);
  await writeBooks(database, [sample]);
  await forger.query("update ledger.transfer set memo = memo || '.' where kind = 'adjustment'");
  const progress: string[] = [];
  const onProgress = ({ check }: { check: string }) => progress.push(check);
  const { ok, problems, totalProblems } = await collectionsLedger.verify(database.em(), { now: NOW, onProgress });
  expect([ok, problems.length, totalProblems]).toEqual([false, 1_000, 1_201n]);
  expect(progress).toContain("contents of transfers");
});
