import { createDatabase, migrate, newId } from "@collections/database";
import { createAnchorKeys } from "@collections/ledger";
import { directUrl, genericPlan, testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { selectBookings, selectPayments, selectPaymentsAfter } from "./books/booking.ts";
import { collectionsLedger } from "./index.ts";
import { NOW, SampleCase, writeBooks } from "../tests/sample-books.ts";
import {
  AnchorEntity,
  ChainBlockEntity,
  bookingsSchema,
  PaymentBookingEntity,
  PaymentReversalEntity,
  TransferEntity,
} from "./schema.ts";

const schemas = [bookingsSchema];
const { url } = await testDatabase("bookings", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url: directUrl(url), schemas, poolMax: 1 });
afterAll(() => database.close());

const byLoan = /lender_id = .*source_loan_number = /;
const byReference = /lender_id = .*source_loan_number = .*reference = /;

// Each plan is prepared on empty tables. This is the worst case, because PostgreSQL then expects a sequential scan to
// cost no more than an index scan.
test.each([
  { ...selectBookings.ofOne, values: "'{}', '{}', '{}', null", searchedBy: byReference },
  { ...selectBookings.ofMany, values: "'{}', '{}', '{}'", searchedBy: byReference },
  { ...selectPaymentsAfter.ofOne, values: "'{}', '{}', '{}', null", searchedBy: byLoan },
  { ...selectPaymentsAfter.ofMany, values: "'{}', '{}', '{}'", searchedBy: byLoan },
  { ...selectPayments, values: `'${newId()}', '', 50`, searchedBy: byLoan },
])(
  "the plan of $name, prepared on empty tables, uses the index on the loan",
  { tags: "one-node-plan" },
  async ({ text, values, searchedBy }) => {
    const plan = await genericPlan(database.pool, text, values);
    expect(plan).not.toContain("Seq Scan");
    expect(/Index Cond: (.*)/.exec(plan)?.[1]).toMatch(searchedBy);
  },
);

test("each MikroORM entity reads the rows that the SQL statements wrote", async () => {
  const sample = new SampleCase(newId()).place(1_000n).pay(400n).reverse(100n);
  const [booking] = sample.bookings;
  const [reversal] = sample.reversals;
  await writeBooks(database, [sample]);
  await collectionsLedger.extendChain(database.em(), sample.lenderId, { now: NOW });
  const em = database.em();
  await collectionsLedger.anchorHeads(em, {
    books: [sample.lenderId],
    keys: createAnchorKeys({ masterKey: "0a".repeat(32) }),
    environment: "sandbox",
    now: NOW,
    append: () => Promise.resolve(),
  });
  for (const entity of bookingsSchema.entities) expect(await em.count(entity, {})).toBeGreaterThan(0);
  expect(await em.findOne(PaymentBookingEntity, { lenderId: sample.lenderId })).toMatchObject(booking!);
  expect(await em.findOne(PaymentReversalEntity, { lenderId: sample.lenderId })).toMatchObject(reversal!);
  const payment = await em.findOne(TransferEntity, { lenderId: sample.lenderId, kind: "payment" });
  expect(payment).toMatchObject({ bookingId: booking!.id, amountMinor: 400n, recordedAt: NOW });
  expect(payment?.digest).toHaveLength(32);
  const block = await em.findOne(ChainBlockEntity, { lenderId: sample.lenderId });
  expect(block).toMatchObject({ number: 1n, bookingIds: [booking!.id], rowCount: 5 });
  expect(await em.findOne(AnchorEntity, { lenderId: sample.lenderId })).toMatchObject({ number: 1n, anchoredAt: NOW });
});
