import { migrate, newId } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { createAnchorKeys } from "@collections/ledger";
import { directUrl, genericPlan, testDatabase } from "@collections/testing";
import type { EntitySchema } from "@mikro-orm/postgresql";
import { afterAll, expect, test } from "vitest";
import { selectBookings, selectPayments, selectPaymentsAfter } from "./books/booking.ts";
import { selectPaymentsWithReversals } from "./books/reversal.ts";
import { collectionsLedger } from "./index.ts";
import { selectSince } from "./reconciliation/later-payments.ts";
import { selectHasParts, selectLeftovers, selectOfLoans, selectWithParts } from "./reconciliation/leftover.ts";
import { NOW, SampleCase, writeBooks } from "../tests/sample-books.ts";
import { deleteInRange, selectContested, selectCounterparts } from "./reconciliation/match.ts";
import { deleteStaged, selectElsewhere, selectStaged } from "./reconciliation/reconciliation-row.ts";
import { insertUnmatched, selectPageEnd, selectUnmatched } from "./reconciliation/window-payments.ts";
import { deleteMarks, insertPrevious, selectMarks } from "./reconciliation/gone.ts";
import {
  AccountEntity,
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
  { ...selectPaymentsWithReversals, values: `'${newId()}', '', 50`, searchedBy: byLoan },
  {
    ...selectCounterparts,
    values: `'${newId()}', '{}', '{}', '{}', '{}', '{}', '${newId()}', now(), now(), now(), now(), true`,
    searchedBy: byReference,
  },
])(
  "the plan of $name, prepared on empty tables, uses the index on the loan",
  { tags: "one-node-plan" },
  async ({ text, values, searchedBy }) => {
    const plan = await genericPlan(database.pool, text, values);
    expect(plan).not.toContain("Seq Scan");
    expect(/Index Cond: (.*)/.exec(plan)?.[1]).toMatch(searchedBy);
  },
);

// With a sort, each page of a reconciliation would read all rows of the run, or all bookings of the lender.
test.each([
  { ...selectStaged, values: `'${newId()}', '${newId()}', '', '', '${newId()}', 5000` },
  { ...selectPageEnd, values: `'${newId()}', '${newId()}', 20000` },
  { ...selectMarks, values: `'${newId()}', '${newId()}', '', '', '', -1, 5000` },
  { ...deleteMarks, values: `'${newId()}', '${newId()}', '', '', '', -1, 'a', 'a', 'found', 7` },
  { ...insertPrevious, values: `'${newId()}', '${newId()}', '${newId()}', 0, 20000` },
  { ...deleteInRange, values: `'${newId()}', '${newId()}', '${newId()}', '${newId()}'` },
  { ...deleteStaged, values: `'${newId()}', '${newId()}', '', '', '${newId()}', 'a', 'a', '${newId()}'` },
])(
  "the plan of $name, prepared on empty tables, reads a page in the order of the primary key",
  { tags: "one-node-plan" },
  async ({ text, values }) => {
    const plan = await genericPlan(database.pool, text, values);
    expect(plan).toContain("_pkey");
    expect(plan).not.toMatch(/Seq Scan|Sort/);
  },
);

// A plan that reads more than a page of either table would make a run quadratic.
test.each([insertUnmatched, selectUnmatched])(
  "the plan of $name, prepared on empty tables, reads bookings and matches by id, and reversals by loan",
  { tags: "one-node-plan" },
  async ({ text }) => {
    const values = `'${newId()}', '${newId()}', '${newId()}', '${newId()}', now(), now()`;
    const plan = await genericPlan(database.pool, text, values);
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toMatch(/payment_reversal.*\n.*Index Cond: .*source_loan_number = /);
    expect(plan).toMatch(/reconciliation_match.*\n.*Index Cond: .*booking_id = b\.id/);
    expect(plan).toMatch(/payment_booking.*\n.*Index Cond: .*\bid > /);
  },
);

test(
  "the plan that finds contested matches, prepared on empty tables, looks up each booking and its staged rows",
  { tags: "one-node-plan" },
  async () => {
    const values = `'${newId()}', '${newId()}', '${newId()}', '${newId()}'`;
    const plan = await genericPlan(database.pool, selectContested.text, values);
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toMatch(/reconciliation_match.*\n.*Index Cond: .*booking_id > /);
    expect(plan).toMatch(/payment_booking.*\n.*Index Cond: .*\bid >= m\.booking_id/);
    expect(plan).toMatch(/reconciliation_row.*\n.*Index Cond: .*loan = b\.loan/);
  },
);

test(
  "the plan that finds payments by reference alone, prepared on empty tables, looks up each reference in a hash table",
  { tags: "one-node-plan" },
  async () => {
    const plan = await genericPlan(database.pool, selectElsewhere.text, `'${newId()}', '{}', 10`);
    expect(plan).toContain("hashed SubPlan");
    expect(plan).not.toContain("Seq Scan");
  },
);

test.each([
  ["payments of loans", selectOfLoans, "'{}', now(), now()", /Index.* using \S*payment_booking\S*source_loan_number/],
  ["later payments of loans", selectSince, "'{}', '{}'", /Index.* using \S*payment_booking\S*source_loan_number/],
  ["whether a lender has parts", selectHasParts, "", /using payment_booking_part_of/],
  ["payments with parts", selectWithParts, "'{}', '{}', '{}'", /using payment_booking_part_of/],
])(
  "the plan that reads %s, prepared on empty tables, uses an index",
  { tags: "one-node-plan" },
  async (_what, { text }, values, index) => {
    const plan = await genericPlan(database.pool, text, [`'${newId()}'`, values].filter(Boolean).join(", "));
    expect(plan).toMatch(index);
    expect(plan).not.toContain("Seq Scan on payment_booking");
  },
);

test("the plan that reads leftovers, prepared on empty tables, sorts nothing", { tags: "one-node-plan" }, async () => {
  const values = `'${newId()}', '${newId()}', '', '${newId()}', 2000`;
  const plan = await genericPlan(database.pool, selectLeftovers.text, values);
  expect(plan).toContain("reconciliation_leftover_pkey");
  expect(plan).not.toMatch(/Seq Scan|Sort/);
});

/** The entities whose rows this test writes. The tests of reconciliations read the other entities. */
const WRITTEN_ENTITIES: readonly EntitySchema[] = [
  AccountEntity,
  TransferEntity,
  PaymentBookingEntity,
  PaymentReversalEntity,
  ChainBlockEntity,
  AnchorEntity,
];

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
  for (const entity of WRITTEN_ENTITIES) expect(await em.count(entity, {})).toBeGreaterThan(0);
  expect(await em.findOne(PaymentBookingEntity, { lenderId: sample.lenderId })).toMatchObject(booking!);
  expect(await em.findOne(PaymentReversalEntity, { lenderId: sample.lenderId })).toMatchObject(reversal!);
  const payment = await em.findOne(TransferEntity, { lenderId: sample.lenderId, kind: "payment" });
  expect(payment).toMatchObject({ bookingId: booking!.id, amountMinor: 400n, recordedAt: NOW });
  expect(payment?.digest).toHaveLength(32);
  const block = await em.findOne(ChainBlockEntity, { lenderId: sample.lenderId });
  expect(block).toMatchObject({ number: 1n, bookingIds: [booking!.id], rowCount: 5 });
  expect(await em.findOne(AnchorEntity, { lenderId: sample.lenderId })).toMatchObject({ number: 1n, anchoredAt: NOW });
});
