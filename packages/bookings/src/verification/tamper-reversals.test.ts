import { newId } from "@collections/database";
import { withoutTriggers } from "@collections/testing";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { collectionsLedger } from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";

const database = await bookingsDatabase();

/** Runs queries as a superuser with triggers disabled. */
const forger = {
  query: (text: string, values: unknown[] = []) =>
    withoutTriggers(database.pool, (client) => client.query<{ id: string }>(text, values)),
};
let sample: SampleCase;

/** Drops all CHECK constraints, so that they do not stop the forger either. */
beforeAll(async () => {
  const { rows } = await database.pool.query<{ drop: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop
     from pg_constraint where contype = 'c' and connamespace = 'ledger'::regnamespace`,
  );
  for (const { drop } of rows) await database.pool.query(drop);
});

beforeEach(async () => {
  sample = new SampleCase(newId()).place(100_000n).pay(40_000n).reverse(15_000n);
  await writeBooks(database, [sample]);
});

const chain = () => collectionsLedger.extendChain(database.em(), sample.lenderId, { now: NOW });

async function codes(): Promise<string[]> {
  const { problems } = await collectionsLedger.verify(database.em(), { now: NOW, book: sample.lenderId });
  return problems.map(({ code }) => code);
}

const DIGESTED = `lender_id, id, booking_id, source_loan_number, reference, reversal_reference, case_id, cycle, amount_minor,
  currency, reversed_at, reason, note, applied_minor, excess_minor, in_balance, adjustment_minor, reapplied,
  outstanding_after_minor, total_collected_after_minor, total_reversed_after_minor, excess_after_minor, status_after,
  sequence, warnings, recorded_at`;

/** Changes the lender's reversal, and recomputes its digest. */
async function forge(set: string): Promise<void> {
  await forger.query(`update ledger.payment_reversal set ${set} where lender_id = $1`, [sample.lenderId]);
  await forger.query(
    `update ledger.payment_reversal set digest = ledger.payment_reversal_digest(${DIGESTED}) where lender_id = $1`,
    [sample.lenderId],
  );
}

test("verify reports nothing about an unchanged reversal", async () => {
  await chain();
  expect(await codes()).toEqual([]);
});

describe("verify reports a forged reversal, although its digest was recomputed:", () => {
  test.each<[string, string, string[]]>([
    [
      "a higher amount",
      "amount_minor = amount_minor + 1, applied_minor = applied_minor + 1",
      ["REVERSAL_UNLIKE_TRANSFERS", "REVERSAL_TOTAL_MISMATCH", "TOTAL_COLLECTED_MISMATCH"],
    ],
    ["another time", "reversed_at = reversed_at + interval '1 second'", ["REVERSAL_UNLIKE_TRANSFERS"]],
    ["another reason", "reason = 'chargeback'", []],
    ["another booking", "booking_id = id", ["REVERSAL_UNLIKE_BOOKING", "REVERSAL_MISSING"]],
    ["another total of reversals", "total_reversed_after_minor = 1", ["REVERSAL_TOTAL_MISMATCH"]],
    ["another outstanding amount", "outstanding_after_minor = 1", ["OUTSTANDING_MISMATCH"]],
    ["a time before the payment", "reversed_at = reversed_at - interval '1 day'", ["REVERSAL_UNLIKE_BOOKING"]],
  ])("%s", async (_, set, expected) => {
    await chain();
    await forge(set);
    const found = await codes();
    expect(found).toContain("BLOCK_MISMATCH");
    for (const code of expected) expect(found).toContain(code);
  });
});

test.each(DIGESTED.split(/,\s*/))(
  "verify reports a reversal whose digest does not fit: a change of %s",
  async (column) => {
    await chain();
    const change = column.endsWith("_id") || column === "id" ? `'${newId()}'` : changeOf(column);
    await forger.query(`update ledger.payment_reversal set ${column} = ${change} where lender_id = $1`, [
      sample.lenderId,
    ]);
    const { problems } = await collectionsLedger.verify(database.em(), { now: NOW });
    expect(problems.map(({ code }) => code)).toContain("CONTENT_CHANGED");
    await forger.query("delete from ledger.payment_reversal");
  },
);

function changeOf(column: string): string {
  if (column === "currency") return "'USD'";
  if (column === "in_balance") return "not in_balance";
  if (column.endsWith("_at")) return `${column} + interval '1 microsecond'`;
  if (/_minor$|^cycle$|^sequence$/.test(column)) return `${column} + 1`;
  if (/^reapplied$|^warnings$/.test(column)) return "'[1]'";
  return `${column} || '.'`;
}

test("verify reports a deleted reversal, because its transfers still exist", async () => {
  await forger.query("delete from ledger.payment_reversal where lender_id = $1", [sample.lenderId]);
  expect(await codes()).toEqual(["REVERSAL_MISSING"]);
});

test("verify reports a deleted reversal that is in the chain", async () => {
  await chain();
  await forger.query("delete from ledger.payment_reversal where lender_id = $1", [sample.lenderId]);
  expect(await codes()).toContain("ROW_MISSING");
});

test("verify reports a reversal whose transfers were deleted", async () => {
  await forger.query("delete from ledger.transfer where lender_id = $1 and kind = 'correction'", [sample.lenderId]);
  expect(await codes()).toContain("REVERSAL_UNLIKE_TRANSFERS");
});

test("verify reports money of a payment that was returned without a reversal, whatever the memo says", async () => {
  await forger.query("delete from ledger.payment_reversal where lender_id = $1", [sample.lenderId]);
  await forger.query(
    "update ledger.transfer set memo = 'Placed twice by mistake' where lender_id = $1 and kind = 'correction'",
    [sample.lenderId],
  );
  expect(await codes()).toContain("REVERSAL_MISSING");
});

test("verify reports reversals that add up to more than their payment", async () => {
  await forge("amount_minor = 40001, applied_minor = 40001");
  expect(await codes()).toContain("REVERSALS_EXCEED_BOOKING");
});

test("a block by a process of the previous version is valid without the reversals, and the next block adds them", async () => {
  await database.pool.query(
    `with row_of as (
       select id, digest, true as is_transfer from ledger.transfer where lender_id = $1
       union all select id, digest, false from ledger.payment_booking where lender_id = $1
     ), block as (
       select array_agg(id order by id) filter (where is_transfer) as transfer_ids,
         array_agg(id order by id) filter (where not is_transfer) as booking_ids, count(*)::integer as row_count,
         sha256(string_agg(digest, ''::bytea order by id)) as rows_hash, (array_agg(id order by id desc))[1] as last_id,
         decode(repeat('00', 32), 'hex') as previous
       from row_of
     )
     insert into ledger.chain_block (lender_id, number, transfer_ids, booking_ids, row_count, rows_hash, previous_hash,
       last_id, created_at, hash)
     select $1, 1, transfer_ids, booking_ids, row_count, rows_hash, previous, last_id, $2::timestamptz,
       ledger.chain_block_hash($1, 1, row_count, rows_hash, previous, last_id, $2::timestamptz)
     from block`,
    [sample.lenderId, NOW],
  );
  expect(await chain()).toMatchObject({ blocks: 1, rows: 1, head: { number: 2n } });
  expect(await codes()).toEqual([]);
});
