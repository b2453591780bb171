import { transaction } from "@collections/database";
import { earningsOfCases } from "@collections/earnings";
import type { FieldPartner } from "@collections/field-partners";
import { type Lender, updateLender } from "@collections/lenders";
import { beforeEach, describe, expect, test } from "vitest";
import { aCase, aFieldPartner, aLender, BORROWER, flowsDatabase, importRow, VAULT } from "../../tests/fixture.ts";
import { aReversal, bookPayment, expectCorrectBooks, reversed } from "../../tests/reversals.ts";

const database = await flowsDatabase();

let lender: Lender;
let fieldPartner: FieldPartner;
let theCase: { id: string; sourceLoanNumber: string };
beforeEach(async () => {
  fieldPartner = await aFieldPartner(database);
});

/** Creates a lender with this commission, and a case of 100 that is paid with A and B, each 80. */
async function overpaidCase(commissionPercent: string): Promise<void> {
  ({ lender } = await aLender(database, { commissionPercent }));
  theCase = await aCase(database, lender, { fieldPartner, row: { outstandingAmount: 100 } });
  for (const reference of ["A", "B"]) {
    const payment = { loan: theCase.sourceLoanNumber, reference, amount: 80, paidAt: new Date() };
    await bookPayment(database, lender, payment);
  }
}

async function changeCommission(commissionPercent: string): Promise<void> {
  await transaction(database.em(), (tx) => updateLender(tx, VAULT, lender.id, { commissionPercent }));
}

/** Reverses A, so that 60 of the excess of B are applied to the case. */
async function reverseFirst(): Promise<void> {
  const { reapplied } = await reversed(database, aReversal(lender, theCase.sourceLoanNumber, "A"));
  expect(reapplied).toMatchObject([{ amountMinor: "6000" }]);
}

/** Returns the earnings on B as [base, percent, amount], in minor units. */
async function earningsOnSecond(): Promise<bigint[][]> {
  const key = { lenderId: lender.id, caseId: theCase.id };
  const lines = await earningsOfCases(database.em(), fieldPartner.id, [key]);
  const own = lines.filter(({ reference }) => reference === "B");
  return own.map(({ baseMinor, percent, amountMinor }) => [baseMinor, percent, amountMinor]);
}

describe("excess that is applied after the lender changed its commission", () => {
  test("earns nothing if the payment was booked at 0 %", async () => {
    await overpaidCase("0");
    await changeCommission("2.5");
    await reverseFirst();
    expect(await earningsOnSecond()).toEqual([]);
    await expectCorrectBooks(database, lender);
  });

  test("earns at the rate of the booking", async () => {
    await overpaidCase("2.5");
    await changeCommission("10");
    await reverseFirst();
    expect(await earningsOnSecond()).toEqual([
      [2_000n, 25_000n, 50n],
      [8_000n, 25_000n, 150n],
    ]);
    await expectCorrectBooks(database, lender);
  });

  test.each([
    { percent: "0", earned: [] },
    { percent: "2.5", earned: [[8_000n, 25_000n, 200n]] },
  ])("by a balance earns at the booking's rate of $percent %", async ({ percent, earned }) => {
    ({ lender } = await aLender(database, { commissionPercent: percent }));
    const asOf = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString();
    const row = { outstandingAmount: 100, outstandingAsOf: asOf(1) };
    theCase = await aCase(database, lender, { fieldPartner, row });
    const { sourceLoanNumber: loan } = theCase;
    await database.pool.query("update cases.collection_case set assigned_since = $1 where lender_id = $2", [
      asOf(2),
      lender.id,
    ]);
    for (const [reference, amount, day] of [
      ["A", 100, 5],
      ["B", 80, 6],
    ] as const) {
      await bookPayment(database, lender, { loan, reference, amount, paidAt: new Date(asOf(day)) });
    }
    await changeCommission("10");
    await importRow(database, lender, {
      sourceLoanNumber: loan,
      ...BORROWER,
      outstandingAmount: 200,
      outstandingAsOf: asOf(3),
    });
    expect(await earningsOnSecond()).toEqual(earned);
    // The case is open again, so the commission waits for its end.
    const { rows } = await database.pool.query(
      "select 1 from earnings.earning where lender_id = $1 and base_before_minor is not null and status <> 'pending'",
      [lender.id],
    );
    expect(rows).toEqual([]);
    await expectCorrectBooks(database, lender);
  });

  test("earns at the rate of the booking, even if a line was forged", async () => {
    await overpaidCase("2.5");
    await database.pool.query("update earnings.earning set percent = 1000000 where lender_id = $1", [lender.id]);
    await reverseFirst();
    expect(await earningsOnSecond()).toContainEqual([8_000n, 25_000n, 150n]);
  });
});
