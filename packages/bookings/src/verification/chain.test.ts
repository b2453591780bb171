import { BEFORE_ALL_IDS, namedStatements, newId, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { bookPayments, collectionsLedger, paymentPostings, postTransfers } from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";

const database = await bookingsDatabase();

/** Verifies a lender's ledger and returns the problems. Every row must be in the chain, however recent it is. */
async function problemsOf(lenderId: string): Promise<string[]> {
  const now = new Date(NOW.getTime() + 1);
  const { problems } = await collectionsLedger.verify(database.em(), { now, book: lenderId, unchainedAfterMs: 0 });
  return problems.map(({ code, table, id }) => `${code} ${table} ${id}`);
}

const extend = (lenderId: string, options = {}) =>
  collectionsLedger.extendChain(database.em(), lenderId, { now: new Date(), ...options });

test("verify of an empty ledger has a count of 0 for every table", async () => {
  const { counts } = await collectionsLedger.verify(database.em(), { now: NOW });
  expect(counts).toEqual({ books: 0, accounts: 0n, transfers: 0n, bookings: 0n, reversals: 0n, blocks: 0n });
});

test("each call of extendChain adds the new rows to the chain, and writes nothing if there are none", async () => {
  const sample = new SampleCase(newId()).place(1_000n).pay(400n);
  await writeBooks(database, [sample]);
  expect(await problemsOf(sample.lenderId)).toHaveLength(3);
  const first = await extend(sample.lenderId);
  expect(first).toMatchObject({ blocks: 1, rows: 3, head: { number: 1n } });
  expect(await problemsOf(sample.lenderId)).toEqual([]);

  expect(await extend(sample.lenderId)).toEqual({ blocks: 0, rows: 0, head: first.head });
  await writeBooks(database, [sample.pay(600n, { earnedMinor: 15n })]);
  const second = await extend(sample.lenderId);
  expect(second).toMatchObject({ blocks: 1, rows: 4, head: { number: 2n } });
  expect(await collectionsLedger.chainHead(database.em(), sample.lenderId)).toEqual(second.head);
  expect(await problemsOf(sample.lenderId)).toEqual([]);
});

test("a row goes into the next block if it is committed after rows with higher ids were chained", async () => {
  const sample = new SampleCase(newId()).place(1_000n);
  await writeBooks(database, [sample]);
  const late = new SampleCase(sample.lenderId).pay(1n);
  await transaction(database.em(), async (tx) => {
    bookPayments(tx, late.bookings);
    postTransfers(tx, late.bookings.flatMap(paymentPostings));
    await tx.flush();
    await writeBooks(database, [sample.pay(400n)]);
    expect(await extend(sample.lenderId)).toMatchObject({ rows: 3 });
  });
  expect(await extend(sample.lenderId)).toMatchObject({ blocks: 1, rows: 2 });
  expect((await problemsOf(sample.lenderId)).filter((problem) => problem.startsWith("ROW_OUTSIDE"))).toEqual([]);
});

test("verify reports a new row with an id from a day ago, until extendChain with `everything` adds the row", async () => {
  const sample = new SampleCase(newId()).place(1_000n).pay(1n);
  await writeBooks(database, [sample]);
  await extend(sample.lenderId);
  const aDayAgo = new Date(Date.now() - 86_400_000).getTime().toString(16).padStart(12, "0");
  const id = `${aDayAgo.slice(0, 8)}-${aDayAgo.slice(8)}${newId().slice(13)}`;
  sample.pay(2n);
  sample.bookings[0] = { ...sample.bookings[0]!, id };
  sample.postings[0] = { ...sample.postings[0]!, bookingId: id };
  await writeBooks(database, [sample]);
  expect(await extend(sample.lenderId)).toMatchObject({ rows: 1 });
  expect(await problemsOf(sample.lenderId)).toEqual([`ROW_OUTSIDE_CHAIN payment_booking ${id}`]);
  expect(await extend(sample.lenderId, { everything: true })).toMatchObject({ blocks: 1, rows: 1 });
  expect(await problemsOf(sample.lenderId)).toEqual([]);
});

test("concurrent calls of extendChain add each row to the chain once while others are written", async () => {
  const lenderId = newId();
  const cases = Array.from({ length: 12 }, () => new SampleCase(lenderId).place(1_000n).pay(10n).pay(20n));
  const extensions = await Promise.all(
    cases.flatMap((sample) => [writeBooks(database, [sample]).then(() => extend(lenderId)), extend(lenderId)]),
  );
  const rows = extensions.reduce((sum, extension) => sum + extension.rows, 0) + (await extend(lenderId)).rows;
  expect(rows).toBe(12 * 5);
  expect(await problemsOf(lenderId)).toEqual([]);
});

test("one call of extendChain splits a backlog into blocks of at most 10,000 rows", async () => {
  const lenderId = newId();
  const sample = new SampleCase(lenderId).place(1n);
  for (let line = 0; line < 10_000; line += 1) sample.adjust(1n);
  await writeBooks(database, [sample]);
  expect(await extend(lenderId)).toMatchObject({ blocks: 2, rows: 10_001, head: { number: 2n } });
  expect(await problemsOf(lenderId)).toEqual([]);
});

test(
  "the query of one step reads at most the step's maximum number of rows from each table",
  { tags: "one-node-plan" },
  async () => {
    const sample = await writeLongBacklog();
    const nextBlocks = namedStatements().find(({ name }) => name === "ledger.next-blocks")!;
    const client = await database.pool.connect();
    // Make PostgreSQL use index scans. Otherwise it would read a table as small as this one completely.
    await client.query("begin; set local enable_seqscan = off; set local enable_bitmapscan = off");
    const { rows: plan } = await client.query<{ "QUERY PLAN": string }>(
      `explain (analyze, timing off) ${nextBlocks.text}`,
      [sample.lenderId, BEFORE_ALL_IDS, 10_000, 80, new Date()],
    );
    await client.query("rollback");
    client.release();
    const read = plan.flatMap(({ "QUERY PLAN": line }) => {
      return Array.from(
        line.matchAll(/Scan .* on (transfer|payment_booking|payment_reversal) .*\(actual rows=(\d+)/g),
        ([, , rows]) => rows,
      );
    });
    expect(read).toHaveLength(3);
    const rows = read.map(Number);
    // The step reads 80 rows of all tables together, and looks at the next row of each table to merge them.
    const sum = rows.reduce((total, count) => total + count, 0);
    expect(sum).toBeGreaterThanOrEqual(80);
    expect(sum).toBeLessThanOrEqual(80 + rows.length);
  },
);

/** Writes 401 rows that are in no block, at least 100 of each table. */
async function writeLongBacklog(): Promise<SampleCase> {
  const sample = new SampleCase(newId()).place(1_000n);
  for (let payment = 0; payment < 100; payment += 1) sample.pay(1n).reverse(1n);
  await writeBooks(database, [sample]);
  return sample;
}
