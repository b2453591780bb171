import type { Lender } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import { aCase, aLender, currentCase, flowsDatabase } from "../../tests/fixture.ts";
import { aReversal, bookPayment, reversed } from "../../tests/reversals.ts";

const database = await flowsDatabase();
let lender: Lender;

beforeAll(async () => {
  ({ lender } = await aLender(database));
});

function at(day: number): Date {
  return new Date(Date.UTC(2026, 0, day, 12));
}

async function aLoan(outstandingAmount: number): Promise<string> {
  const row = { outstandingAmount, outstandingAsOf: at(1).toISOString() };
  return (await aCase(database, lender, { row })).sourceLoanNumber;
}

function pay(loan: string, reference: string, amount: number, day: number): Promise<void> {
  return bookPayment(database, lender, { loan, reference, amount, paidAt: at(day) });
}

/** Changes the row of a case as a process does that does not know the column of the balance. */
async function change(loan: string, columns: string): Promise<void> {
  const text = `update cases.collection_case set ${columns} where lender_id = $1 and source_loan_number = $2`;
  await database.pool.query(text, [lender.id, loan]);
}

async function owedAfter(loan: string, reference: string, day: number): Promise<bigint> {
  await reversed(database, aReversal(lender, loan, reference, { reversedAt: at(day) }));
  return (await currentCase(database, lender, loan)).outstandingMinor / 100n;
}

describe("a reversal on a case whose balance is not known", () => {
  test("applies excess of other payments to a case from before the migration", async () => {
    const loan = await aLoan(100);
    await pay(loan, "A", 80, 10);
    await pay(loan, "B", 80, 11);
    await change(loan, "balance_minor = null, balance_as_of = null, balance_sequence = null");
    expect(await owedAfter(loan, "A", 13)).toBe(20n);
  });

  test("adds to the amount that an older process imported with a date", async () => {
    const loan = await aLoan(1_000);
    await change(loan, `outstanding_minor = 40000, outstanding_as_of = '${at(5).toISOString()}'`);
    await pay(loan, "A", 100, 6);
    expect(await owedAfter(loan, "A", 7)).toBe(400n);
  });

  test("adds to the amount that an older process imported without a date", async () => {
    const loan = await aLoan(1_000);
    await pay(loan, "A", 200, 2);
    await change(loan, "outstanding_minor = 50000");
    expect(await owedAfter(loan, "A", 3)).toBe(700n);
  });
});
