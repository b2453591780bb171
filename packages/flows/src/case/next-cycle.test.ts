import { transaction } from "@collections/database";
import { suspendFieldPartner } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";
import { beforeAll, expect, test } from "vitest";
import {
  aCase,
  aFieldPartner,
  aLender,
  BORROWER,
  currentCase,
  ENVIRONMENT,
  eventsOfLoan,
  flowsDatabase,
  importRow,
} from "../../tests/fixture.ts";
import { aReversal, bookPayment, expectCorrectBooks, reversed } from "../../tests/reversals.ts";
import { closeCase } from "./change-case.ts";

const database = await flowsDatabase();
const NOW_MS = Date.now();

let lender: Lender;

beforeAll(async () => {
  ({ lender } = await aLender(database));
});

/** Returns a time some minutes from the start of the tests; a few minutes ahead of the clock are allowed. */
function at(minutes: number): Date {
  return new Date(NOW_MS + minutes * 60_000);
}

/** Imports a balance, and returns the outstanding amount of the current case and its cycle. */
async function balance(loan: string, outstandingAmount: number, asOf: Date): Promise<[bigint, number]> {
  const row = { sourceLoanNumber: loan, ...BORROWER, outstandingAmount, outstandingAsOf: asOf.toISOString() };
  await importRow(database, lender, row);
  const { outstandingMinor, cycle } = await currentCase(database, lender, loan);
  return [outstandingMinor, cycle];
}

async function aLoan(): Promise<string> {
  const row = { outstandingAmount: 100, outstandingAsOf: at(-60).toISOString() };
  return (await aCase(database, lender, { row })).sourceLoanNumber;
}

function pay(loan: string, reference: string, amount: number, paidAt: Date): Promise<void> {
  return bookPayment(database, lender, { loan, reference, amount, paidAt });
}

test("a payment on a closed case that is later than the balance of the next cycle is subtracted from each of its rows", async () => {
  const loan = await aLoan();
  await closeCase(database.em(), { lender, loan, reason: null }, ENVIRONMENT);
  await pay(loan, "A", 40, at(2));
  expect(await balance(loan, 100, at(1))).toEqual([6_000n, 2]);
  expect(await balance(loan, 100, at(1))).toEqual([6_000n, 2]);
  expect(await balance(loan, 60, at(3))).toEqual([6_000n, 2]);
  await expectCorrectBooks(database, lender);
});

test("a balance of a collected case reopens it if a reversal is later", async () => {
  const loan = await aLoan();
  await pay(loan, "A", 100, at(-50));
  await pay(loan, "B", 100, at(-40));
  await reversed(database, aReversal(lender, loan, "A", { reversedAt: at(-20) }));
  expect(await balance(loan, 50, at(-30))).toEqual([15_000n, 1]);
  expect(await balance(loan, 50, at(-30))).toEqual([15_000n, 1]);
  expect(await balance(loan, 150, at(-10))).toEqual([15_000n, 1]);
  await expectCorrectBooks(database, lender);
});

test("a reversal in an earlier cycle is owed on the current case at once", async () => {
  const loan = await aLoan();
  await pay(loan, "A", 100, at(-50));
  expect(await balance(loan, 50, at(-30))).toEqual([5_000n, 2]);
  const reversal = await reversed(database, aReversal(lender, loan, "A", { reversedAt: at(-20) }));
  expect(reversal).toMatchObject({ cycle: 1, outstandingAfterMinor: 15_000n, statusAfter: "new" });
  expect(await balance(loan, 50, at(-30))).toEqual([15_000n, 2]);
  await expectCorrectBooks(database, lender);
});

test("a dated balance subtracts later payments of an earlier cycle", async () => {
  const { sourceLoanNumber: loan } = await aCase(database, lender, { row: { outstandingAmount: 100 } });
  await pay(loan, "A", 100, at(-10));
  await importRow(database, lender, { sourceLoanNumber: loan, ...BORROWER, outstandingAmount: 70 });
  expect(await balance(loan, 165, at(-60))).toEqual([6_500n, 2]);
  expect(await balance(loan, 165, at(-60))).toEqual([6_500n, 2]);
  await expectCorrectBooks(database, lender);
});

test("excess of an earlier cycle is not applied to the current case", async () => {
  const loan = await aLoan();
  await pay(loan, "A", 150, at(-20));
  await importRow(database, lender, { sourceLoanNumber: loan, ...BORROWER, outstandingAmount: 200 });
  await pay(loan, "B", 200, at(-15));
  expect(await balance(loan, 400, at(-30))).toEqual([5_000n, 2]);
  await expectCorrectBooks(database, lender);
  await pay(loan, "C", 100, at(-10));
  const { reapplied, outstandingAfterMinor } = await reversed(
    database,
    aReversal(lender, loan, "B", { amount: "30", reversedAt: at(-5) }),
  );
  expect([reapplied.map(({ amountMinor }) => amountMinor), outstandingAfterMinor]).toEqual([["3000"], 0n]);
  await expectCorrectBooks(database, lender);
});

test("a balance leaves out later payments in another currency", async () => {
  const loan = await aLoan();
  await pay(loan, "A", 100, at(-20));
  const row = { sourceLoanNumber: loan, ...BORROWER, currency: "USD", outstandingAmount: 500 };
  await importRow(database, lender, { ...row, outstandingAsOf: at(-30).toISOString() });
  expect(await currentCase(database, lender, loan)).toMatchObject({
    cycle: 2,
    currency: "USD",
    outstandingMinor: 50_000n,
  });
  await expectCorrectBooks(database, lender);
});

test("case.closed names the last payment that was not reversed", async () => {
  const loan = await aLoan();
  await pay(loan, "A", 50, at(-50));
  await pay(loan, "B", 20, at(-45));
  await reversed(database, aReversal(lender, loan, "B", { reversedAt: at(-44) }));
  expect(await balance(loan, 50, at(-55))).toEqual([0n, 1]);
  const events = await eventsOfLoan(database, { lenderId: lender.id, sourceLoanNumber: loan });
  expect(events.at(-1)).toMatchObject({ kind: "case.closed", data: { reference: "A" } });
  await expectCorrectBooks(database, lender);
});

test("a balance reopens a case without its field partner if that one is suspended", async () => {
  const fieldPartner = await aFieldPartner(database);
  const row = { outstandingAmount: 100, outstandingAsOf: at(-60).toISOString() };
  const { sourceLoanNumber: loan } = await aCase(database, lender, { fieldPartner, row });
  await pay(loan, "A", 100, at(-20));
  await transaction(database.em(), (tx) => suspendFieldPartner(tx, fieldPartner.id, new Date()));
  expect(await balance(loan, 150, at(-30))).toEqual([5_000n, 1]);
  expect((await currentCase(database, lender, loan)).assignedFieldPartnerId).toBeNull();
  await expectCorrectBooks(database, lender);
});
