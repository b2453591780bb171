import { createDatabase, type Database, migrate, newId, sqlState, transaction } from "@collections/database";
import { directUrl, testDatabase, withoutTriggers } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extendChain, type Posting, postTransfers } from "../index.ts";
import { NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";
import { ledgerSchema } from "../schema.ts";

const TABLES = ["account", "transfer", "payment_booking", "chain_block"];
const CHANGES = [
  ["UPDATE", (table: string) => `update ledger.${table} set lender_id = lender_id`],
  ["DELETE", (table: string) => `delete from ledger.${table}`],
  ["TRUNCATE", (table: string) => `truncate ledger.${table}`],
] as const;

const schemas = [ledgerSchema];
let database: Database;
let url: string;

beforeAll(async () => {
  ({ url } = await testDatabase("ledger", async (at) => void (await migrate({ url: at, schemas }))));
  database = await createDatabase({ url, schemas });
  const sample = new SampleCase(newId()).place(1_000n).pay(400n);
  await writeBooks(database, [sample]);
  await extendChain(database.em(), sample.lenderId, { now: NOW });
});
afterAll(() => database.close());

describe.each(TABLES)("ledger.%s", (table) => {
  test.each(CHANGES)("refuses %s and says so, to the owner too", async (act, sql) => {
    const refusal = database.pool.query(sql(table));
    // A node of a cluster names its shard: ledger.transfer_102024.
    const named = new RegExp(String.raw`ledger\.${table}(_\d+)? is append-only: ${act} is refused`);
    await expect(refusal).rejects.toThrow(named);
    const { rows } = await database.pool.query<{ count: string }>(`select count(*) from ledger.${table}`);
    expect(Number(rows[0]?.count)).toBeGreaterThan(0);
  });
});

test("the role that the service runs as may not change a row even where the triggers are off", async () => {
  const role = `ledger_runtime_${newId().slice(-12)}`;
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
      await asRole(`insert into ledger.${table} select * from ledger.${table} limit 0`);
    }
  } finally {
    await pool.query(`drop owned by ${role}`);
    await pool.query(`drop role ${role}`);
  }
});

describe("a posting that the chart of accounts does not know is refused", () => {
  const lenderId = newId();
  const sample = new SampleCase(lenderId).place(1_000n).pay(1_200n, { earnedMinor: 30n });
  const [placed, payment, excess, commission, credited] = sample.postings as [
    Posting,
    Posting,
    Posting,
    Posting,
    Posting,
  ];
  const otherCase = newId();

  test.each<[string, Posting]>([
    ["an amount of 0", { ...payment, amountMinor: 0n }],
    ["an amount below 0", { ...payment, amountMinor: -1n }],
    [
      "an account against itself",
      { ...placed, kind: "correction", corrects: newId(), debitAccount: placed.creditAccount },
    ],
    [
      "a payment turned around",
      { ...payment, debitAccount: payment.creditAccount, creditAccount: payment.debitAccount },
    ],
    ["a payment on another case", { ...payment, caseId: otherCase }],
    ["a payment without a case", { ...payment, caseId: null }],
    ["a payment without a booking", { ...payment, bookingId: null }],
    ["a payment without a place in the case's order", { ...payment, sequence: null }],
    ["a payment in another currency than its accounts", { ...payment, currency: "KWD" as Posting["currency"] }],
    ["excess on the receivable", { ...excess, creditAccount: payment.creditAccount }],
    ["a placement with another lender", { ...placed, lenderId: newId() }],
    ["a commission without a booking", { ...commission, bookingId: null }],
    ["a credit to somebody else", { ...credited, creditAccount: `credited/${newId()}/INR` }],
    ["a correction of nothing", { ...payment, kind: "correction" }],
    ["a correction without a reason", { ...payment, kind: "correction", corrects: newId(), memo: "" }],
    ["a correction on another case", { ...payment, kind: "correction", corrects: newId(), caseId: otherCase }],
    ["a payment that corrects", { ...payment, corrects: newId() }],
    ["an unknown kind", { ...payment, kind: "gift" as Posting["kind"] }],
  ])("%s", async (_, posting) => {
    const posted = transaction(database.em(), async (tx) => postTransfers(tx, [posting]));
    await expect(posted).rejects.toSatisfy((error) => sqlState(error) === "23514");
  });

  test("while what it is made from is not", async () => {
    await expect(writeBooks(database, [sample])).resolves.toBeUndefined();
  });
});
