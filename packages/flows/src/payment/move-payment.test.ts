import type { Lender } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import { aCase, aLender, currentCase, ENVIRONMENT, flowsDatabase } from "../../tests/fixture.ts";
import { aReversal, bookPayment, expectCorrectBooks, reversed } from "../../tests/reversals.ts";
import { movePayment } from "./move-payment.ts";

const database = await flowsDatabase();

let lender: Lender;

beforeAll(async () => {
  ({ lender } = await aLender(database, { commissionPercent: "2.5" }));
});

/** Creates a case of 100, and returns its loan. */
async function aLoan(): Promise<string> {
  return (await aCase(database, lender, { row: { outstandingAmount: 100 } })).sourceLoanNumber;
}

function pay(loan: string, reference: string, amount: number, partOf: string | null = null): Promise<void> {
  return bookPayment(database, lender, { loan, reference, amount, paidAt: new Date(), partOf });
}

describe("movePayment", () => {
  const move = (from: string, to: string, reference: string, dryRun = false) => {
    const { amount: _, reason: __, ...request } = aReversal(lender, from, reference);
    return movePayment(database.em(), { ...request, toLoan: to }, ENVIRONMENT, { dryRun });
  };

  test("reverses on the wrong loan and confirms on the right one", async () => {
    const [wrong, right] = [await aLoan(), await aLoan()];
    await pay(wrong, "A", 100);
    expect(await move(wrong, right, "A", true)).toMatchObject({ kind: "moved", wasBooked: false });
    expect(await currentCase(database, lender, right)).toMatchObject({ totalCollectedMinor: 0n });
    expect(await move(wrong, right, "A")).toMatchObject({
      kind: "moved",
      reversal: { reason: "wrong_loan", amountMinor: 10_000n },
      booking: { reference: "A", statusAfter: "collected" },
    });
    expect(await currentCase(database, lender, wrong)).toMatchObject({
      status: "in_progress",
      outstandingMinor: 10_000n,
    });
    await expectCorrectBooks(database, lender);
  });

  test("changes nothing if the reversal reference was used before", async () => {
    const [wrong, right, third] = [await aLoan(), await aLoan(), await aLoan()];
    await pay(wrong, "A", 100);
    await pay(wrong, "B", 20);
    const bounced = await reversed(database, aReversal(lender, wrong, "B"));
    const request = { ...aReversal(lender, wrong, "A"), toLoan: right };
    const moveTo = (more: object) => movePayment(database.em(), { ...request, ...more }, ENVIRONMENT);
    expect(await moveTo({})).toMatchObject({ kind: "moved", wasBooked: false });
    expect(await moveTo({})).toMatchObject({ kind: "moved", wasBooked: true, effects: undefined });
    const refused = { kind: "refused", step: "reverse", code: "ALREADY_REVERSED" };
    expect(await moveTo({ toLoan: third })).toMatchObject(refused);
    const { reversalReference } = bounced;
    const unknown = await moveTo({ toLoan: third, reversalReference, reference: "mistyped" });
    expect(unknown).toMatchObject({ kind: "refused", step: "reverse", code: "PAYMENT_NOT_FOUND" });
    expect(await moveTo({ toLoan: third, reversalReference })).toMatchObject(refused);
    expect(await moveTo({ toLoan: third, reversalReference, reference: "B" })).toMatchObject(refused);
    expect(await currentCase(database, lender, third)).toMatchObject({ totalCollectedMinor: 0n });
    await expectCorrectBooks(database, lender);
  });

  test("keeps `partOf` if the parent was moved before its part", async () => {
    const [wrong, right] = [await aLoan(), await aLoan()];
    await pay(wrong, "A", 60);
    await pay(wrong, "A-rest", 20, "A");
    await move(wrong, right, "A");
    expect(await move(wrong, right, "A-rest")).toMatchObject({
      kind: "moved",
      booking: { reference: "A-rest", partOf: "A", warnings: [] },
    });
    await expectCorrectBooks(database, lender);
  });

  test("drops `partOf` with a warning if the parent is elsewhere", async () => {
    const [wrong, right] = [await aLoan(), await aLoan()];
    await pay(wrong, "A", 60);
    await pay(wrong, "A-rest", 20, "A");
    const moved = {
      kind: "moved",
      booking: { reference: "A-rest", partOf: null, warnings: [{ code: "PARENT_NOT_FOUND", pointer: "/partOf" }] },
    };
    expect(await move(wrong, right, "A-rest", true)).toMatchObject(moved);
    expect(await move(wrong, right, "A-rest")).toMatchObject(moved);
    await expectCorrectBooks(database, lender);
  });

  test("changes nothing if the other loan does not exist", async () => {
    const wrong = await aLoan();
    await pay(wrong, "A", 100);
    expect(await move(wrong, "LN-UNKNOWN", "A")).toMatchObject({
      kind: "refused",
      step: "confirm",
      code: "LOAN_NOT_FOUND",
    });
    expect(await currentCase(database, lender, wrong)).toMatchObject({ status: "collected", totalReversedMinor: 0n });
  });
});
