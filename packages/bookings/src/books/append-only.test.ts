import { migrate, newId, sqlState, transaction } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { directUrl, testDatabase, withoutTriggers } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectionsLedger, type Posting, postTransfers } from "../index.ts";
import { NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";
import { bookingsSchema } from "../schema.ts";

const TABLES = ["account", "transfer", "payment_booking", "chain_block"];
const CHANGES = [
  ["UPDATE", (table: string) => `update ledger.${table} set lender_id = lender_id`],
  ["DELETE", (table: string) => `delete from ledger.${table}`],
  ["TRUNCATE", (table: string) => `truncate ledger.${table}`],
] as const;

const schemas = [bookingsSchema];
let database: Database;
let url: string;

beforeAll(async () => {
  ({ url } = await testDatabase("bookings", async (at) => void (await migrate({ url: at, schemas }))));
  database = await createDatabase({ url, schemas });
  const sample = new SampleCase(newId()).place(1_000n).pay(400n);
  await writeBooks(database, [sample]);
  await collectionsLedger.extendChain(database.em(), sample.lenderId, { now: NOW });
});
afterAll(() => database.close());

describe.each(TABLES)("ledger.%s", (table) => {
  test.each(CHANGES)(
    "rejects %s and says that the table is append-only, even for the table's owner",
    async (act, sql) => {
      const change = database.pool.query(sql(table));
      // On a cluster, the error message has the name of the shard, such as ledger.transfer_102024.
      const message = new RegExp(String.raw`ledger\.${table}(_\d+)? is append-only: ${act} is refused`);
      await expect(change).rejects.toThrow(message);
      const { rows } = await database.pool.query<{ count: string }>(`select count(*) from ledger.${table}`);
      expect(Number(rows[0]?.count)).toBeGreaterThan(0);
    },
  );
});

test("the service's runtime role may not change a row even if the triggers are disabled", async () => {
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

describe("postTransfers", () => {
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
      "the same account on both sides",
      { ...placed, kind: "correction", corrects: newId(), debitAccount: placed.creditAccount },
    ],
    [
      "a payment with debit and credit swapped",
      { ...payment, debitAccount: payment.creditAccount, creditAccount: payment.debitAccount },
    ],
    ["a payment for one case on the receivable of another case", { ...payment, caseId: otherCase }],
    ["a payment without a case", { ...payment, caseId: null }],
    ["a payment without a booking", { ...payment, bookingId: null }],
    ["a payment without a sequence", { ...payment, sequence: null }],
    ["a payment in KWD on accounts in INR", { ...payment, currency: "KWD" as Posting["currency"] }],
    ["excess credited to the receivable", { ...excess, creditAccount: payment.creditAccount }],
    ["a placement on the account of another lender", { ...placed, lenderId: newId() }],
    ["a commission without a booking", { ...commission, bookingId: null }],
    ["an earning credited to another field partner", { ...credited, creditAccount: `credited/${newId()}/INR` }],
    ["a correction that names no transfer", { ...payment, kind: "correction" }],
    ["a correction without a reason", { ...payment, kind: "correction", corrects: newId(), memo: "" }],
    [
      "a correction for one case on the receivable of another case",
      { ...payment, kind: "correction", corrects: newId(), caseId: otherCase },
    ],
    ["a payment that names a transfer to correct", { ...payment, corrects: newId() }],
    ["an unknown kind", { ...payment, kind: "gift" as Posting["kind"] }],
  ])("rejects %s", async (_, posting) => {
    const posted = transaction(database.em(), async (tx) => postTransfers(tx, [posting]));
    await expect(posted).rejects.toSatisfy((error) => sqlState(error) === "23514");
  });

  test("accepts the valid postings from which the rejected ones were made", async () => {
    await expect(writeBooks(database, [sample])).resolves.toBeUndefined();
  });
});
