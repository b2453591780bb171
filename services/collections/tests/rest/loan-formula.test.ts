import assert from "node:assert/strict";
import { describe, expect, test } from "vitest";
import { aLender, startTestService } from "../fixtures/fixture.ts";

const service = await startTestService({ hasWorker: false });
const lender = await aLender(service);

type Body = Record<string, unknown>;

let loans = 0;

/** Returns a time on a day of the year 2026, by the number of the day. */
function at(day: number): string {
  return new Date(Date.UTC(2026, 0, day, 12)).toISOString();
}

/** A loan that is told about by its facts, in their order of arrival. */
class Loan {
  readonly number = `FORMULA-${(loans += 1)}`;
  #payments = 0;

  async balance(outstandingAmount: number, day?: number): Promise<Body> {
    const borrower = { borrowerName: "Asha Rao", borrowerPhone: "+919800000001" };
    const asOf = day === undefined ? {} : { outstandingAsOf: at(day) };
    const row = { sourceLoanNumber: this.number, ...borrower, outstandingAmount, ...asOf };
    const { body } = await lender.importCases([row]);
    return (body["results"] as Body[])[0]!;
  }

  async pay(amount: number, day: number, reference = `UTR${(this.#payments += 1)}`): Promise<string> {
    const payment = { amount, reference, paidAt: at(day), mode: "upi", amountIsMajorUnits: true };
    assert.equal((await lender.confirm(this.number, payment)).status, 200);
    return reference;
  }

  async reverse(reference: string, day: number, fields: { amount?: number; reason?: string } = {}): Promise<Body> {
    const reversal = { reference, reversalReference: `RV-${reference}-${day}`, reversedAt: at(day), reason: "bounced" };
    const { status, body } = await lender.reverse(this.number, { ...reversal, ...fields });
    assert.equal(status, 200, String(body["detail"]));
    return body;
  }

  async snapshot(): Promise<Body> {
    return (await lender.getCase(this.number)).body;
  }
}

describe("the outstanding amount of a loan that a payment cleared on the way", () => {
  test("is 0 after payments and reversals around an older balance", async () => {
    const loan = new Loan();
    await loan.balance(1_000, 1);
    const first = await loan.pay(500, 21);
    await loan.balance(200, 5);
    await loan.reverse(first, 25, { amount: 250 });
    const second = await loan.pay(300, 18);
    expect(await loan.reverse(second, 28)).toMatchObject({ outstandingAfter: 0 });
  });

  test("is 400 after a balance of 1,400 from before the payment of 1,000", async () => {
    const loan = new Loan();
    await loan.balance(1_000, 1);
    await loan.pay(1_000, 34);
    expect(await loan.balance(1_400, 23)).toMatchObject({ outcome: "reopened", outstandingAmount: 400 });
    expect(await loan.snapshot()).toMatchObject({ cycle: 1, status: "in_progress", totalCollected: 1_000 });
  });

  test("is 700 after a reversal of a payment that the newest balance includes", async () => {
    const loan = new Loan();
    await loan.balance(1_000, 1);
    await loan.pay(500, 22);
    const second = await loan.pay(500, 24);
    await loan.balance(200, 31);
    await loan.pay(1_000, 11);
    expect(await loan.reverse(second, 32)).toMatchObject({ outstandingAfter: 700 });
  });

  test("leaves excess where a balance of 0 left it", async () => {
    const loan = new Loan();
    await loan.balance(100, 1);
    const first = await loan.pay(80, 10);
    await loan.pay(80, 11);
    await loan.balance(0, 12);
    expect(await loan.reverse(first, 13)).toMatchObject({ outstandingAfter: 80, excessAmount: 60 });
  });

  test("uses up excess of another payment first without such a balance", async () => {
    const loan = new Loan();
    await loan.balance(100, 1);
    const first = await loan.pay(80, 10);
    await loan.pay(80, 11);
    expect(await loan.reverse(first, 13)).toMatchObject({ outstandingAfter: 20, excessAmount: 0 });
  });
});

describe("a payment that never was on the loan", () => {
  test.each(["wrong_loan", "entered_by_mistake", "duplicate"])(
    "is not owed again if the newest balance is later: %s",
    async (reason) => {
      const loan = new Loan();
      await loan.balance(10_000, 10);
      const payment = await loan.pay(2_000, 8);
      expect(await loan.reverse(payment, 20, { reason })).toMatchObject({
        outstandingAfter: 10_000,
        totalCollected: 0,
        warnings: [{ code: "REVERSAL_IN_BALANCE" }],
      });
    },
  );

  test("leaves a balance that arrived after it as it is", async () => {
    const loan = new Loan();
    await loan.balance(10_000, 10);
    const payment = await loan.pay(2_000, 15);
    await loan.balance(9_500, 18);
    expect(await loan.reverse(payment, 20, { reason: "wrong_loan" })).toMatchObject({ outstandingAfter: 9_500 });
  });

  test("is owed again if it is later than the newest balance", async () => {
    const loan = new Loan();
    await loan.balance(10_000, 10);
    const payment = await loan.pay(2_000, 15);
    expect(await loan.reverse(payment, 20, { reason: "wrong_loan" })).toMatchObject({ outstandingAfter: 10_000 });
  });
});

test("a reversal of an earlier cycle is owed on the current case, which the answer describes", async () => {
  const loan = new Loan();
  await loan.balance(100, 1);
  const payment = await loan.pay(100, 5);
  expect(await loan.balance(50, 10)).toMatchObject({ outcome: "reopened" });
  const { caseId } = await loan.snapshot();
  expect(await loan.reverse(payment, 20)).toMatchObject({ caseId, cycle: 1, outstandingAfter: 150, status: "new" });
  expect(await loan.snapshot()).toMatchObject({ cycle: 2, outstandingAfter: 150 });
  await loan.pay(150, 21);
  expect(await loan.snapshot()).toMatchObject({ status: "collected" });
});
