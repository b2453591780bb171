import { transfersOf } from "@collections/bookings";
import { caseById } from "@collections/cases";
import { publicId, transaction } from "@collections/database";
import { earningsOfCases } from "@collections/earnings";
import { type FieldPartner, suspendFieldPartner } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";
import { AmountLiteral } from "@collections/money";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
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
import { payoutPreview, recordPayout } from "../books/record-payout.ts";
import { holdCase, releaseCase } from "../case/change-case.ts";
import { reversePayment } from "./reverse-payment.ts";

const database = await flowsDatabase();
const DAY_MS = 24 * 60 * 60_000;

let lender: Lender;
let fieldPartner: FieldPartner;

beforeAll(async () => {
  fieldPartner = await aFieldPartner(database);
});

beforeEach(async () => {
  ({ lender } = await aLender(database, { commissionPercent: "2.5" }));
});

function expectBooksToHold(): Promise<void> {
  return expectCorrectBooks(database, lender);
}

/** Creates a case of 100 that is assigned to the field partner, and returns its loan. */
async function aLoan(outstandingAmount = 100, row: object = {}): Promise<string> {
  const { sourceLoanNumber } = await aCase(database, lender, { fieldPartner, row: { outstandingAmount, ...row } });
  return sourceLoanNumber;
}

function pay(loan: string, reference: string, amount: number, paidAt = new Date()): Promise<void> {
  return bookPayment(database, lender, { loan, reference, amount, paidAt });
}

/** Returns the field partner's earnings on the loan as [amount in minor units, status], in the order of their creation. */
async function earnings(loan: string): Promise<[bigint, string][]> {
  const { id: caseId } = await currentCase(database, lender, loan);
  const lines = await earningsOfCases(database.em(), fieldPartner.id, [{ lenderId: lender.id, caseId }]);
  return lines.map(({ amountMinor, status }) => [amountMinor, status]);
}

async function kinds(loan: string): Promise<string[]> {
  return (await eventsOfLoan(database, { lenderId: lender.id, sourceLoanNumber: loan })).map(({ kind }) => kind);
}

describe("the amounts of a case", () => {
  test("if the first of two payments of 80 on 100 is reversed, 20 are outstanding, and the second earns commission on all 80", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 80);
    await pay(loan, "B", 80);
    expect(await earnings(loan)).toEqual([
      [200n, "credited"],
      [50n, "credited"],
    ]);
    const reversal = await reversed(database, aReversal(lender, loan, "A"));
    expect(reversal).toMatchObject({
      amountMinor: 8_000n,
      appliedMinor: 8_000n,
      excessMinor: 0n,
      outstandingAfterMinor: 2_000n,
      totalCollectedAfterMinor: 8_000n,
      totalReversedAfterMinor: 8_000n,
      excessAfterMinor: 0n,
      statusAfter: "in_progress",
      reapplied: [{ amountMinor: "6000" }],
    });
    expect(await currentCase(database, lender, loan)).toMatchObject({
      status: "in_progress",
      closedAt: null,
      closeReason: null,
      fieldWork: "open",
      assignedFieldPartnerId: fieldPartner.id,
      outstandingMinor: 2_000n,
      totalReversedMinor: 8_000n,
      excessMinor: 0n,
    });
    expect(await earnings(loan)).toEqual([
      [200n, "reversed"],
      [50n, "credited"],
      [150n, "pending"],
    ]);
    expect((await kinds(loan)).slice(2)).toEqual([
      "payment.collected",
      "payment.collected",
      "case.closed",
      "payment.reversed",
      "case.reopened",
    ]);
    await expectBooksToHold();
  });

  test("a partial reversal takes the payment's own excess first, and leaves a collected case collected", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 130);
    const reversal = await reversed(database, aReversal(lender, loan, "A", { amount: "20" }));
    expect(reversal).toMatchObject({
      excessMinor: 2_000n,
      appliedMinor: 0n,
      excessAfterMinor: 1_000n,
      statusAfter: "collected",
    });
    expect(await reversed(database, aReversal(lender, loan, "A"))).toMatchObject({
      amountMinor: 11_000n,
      excessMinor: 1_000n,
      outstandingAfterMinor: 10_000n,
      totalReversedAfterMinor: 13_000n,
      totalCollectedAfterMinor: 0n,
    });
    expect((await kinds(loan)).slice(-3)).toEqual(["payment.reversed", "payment.reversed", "case.reopened"]);
    await expectBooksToHold();
  });

  test("excess that keeps the case collected earns a commission that is credited at once", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 80);
    await pay(loan, "B", 80);
    const { statusAfter } = await reversed(database, aReversal(lender, loan, "A", { amount: "40" }));
    expect(statusAfter).toBe("collected");
    const lines = await earnings(loan);
    expect(lines.toSorted(([one], [other]) => Number(one - other))).toEqual([
      [-100n, "credited"],
      [50n, "credited"],
      [100n, "credited"],
      [200n, "credited"],
    ]);
    await expectBooksToHold();
  });

  test("excess of the oldest payment is applied first, whichever was booked first", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 100);
    await pay(loan, "later", 50);
    await pay(loan, "older", 50, new Date(Date.now() - DAY_MS));
    const { reapplied } = await reversed(database, aReversal(lender, loan, "A", { amount: "30" }));
    const { rows } = await database.pool.query<{ reference: string }>(
      "select reference from ledger.payment_booking where id = any ($1::uuid[])",
      [reapplied.map(({ bookingId }) => bookingId)],
    );
    expect(rows).toEqual([{ reference: "older" }]);
    await expectBooksToHold();
  });

  test("when the case is cleared again, case.closed is sent again and pending earnings are credited", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 100);
    await reversed(database, aReversal(lender, loan, "A", { amount: "40" }));
    expect(await earnings(loan)).toEqual([
      [250n, "credited"],
      [-100n, "credited"],
    ]);
    await pay(loan, "B", 40);
    expect(await currentCase(database, lender, loan)).toMatchObject({ status: "collected", cycle: 1 });
    expect(await earnings(loan)).toEqual([
      [250n, "credited"],
      [-100n, "credited"],
      [100n, "credited"],
    ]);
    expect((await kinds(loan)).filter((kind) => kind === "case.closed")).toHaveLength(2);
    await expectBooksToHold();
  });

  test("a pending earning of which a part was reversed is credited without that part", async () => {
    const loan = await aLoan(200);
    await pay(loan, "A", 100);
    await reversed(database, aReversal(lender, loan, "A", { amount: "40" }));
    expect(await earnings(loan)).toEqual([
      [250n, "pending"],
      [-100n, "pending"],
    ]);
    await pay(loan, "B", 140);
    expect(await earnings(loan)).toEqual([
      [250n, "credited"],
      [-100n, "credited"],
      [350n, "credited"],
    ]);
    await expectBooksToHold();
  });

  test("a reversal that the balance includes leaves the outstanding amount and warns", async () => {
    const asOf = new Date(Date.now() - DAY_MS);
    const loan = await aLoan(100, { outstandingAsOf: new Date(asOf.getTime() - 5 * DAY_MS).toISOString() });
    await pay(loan, "A", 60, new Date(asOf.getTime() - 2 * DAY_MS));
    await importRow(database, lender, {
      sourceLoanNumber: loan,
      ...BORROWER,
      outstandingAmount: 100,
      outstandingAsOf: asOf.toISOString(),
    });
    const reversal = await reversed(
      database,
      aReversal(lender, loan, "A", { reversedAt: new Date(asOf.getTime() - DAY_MS) }),
    );
    expect(reversal).toMatchObject({
      inBalance: true,
      adjustmentMinor: -6_000n,
      outstandingAfterMinor: 10_000n,
      warnings: [{ code: "REVERSAL_IN_BALANCE", pointer: "/reversedAt" }],
    });
    expect(reversal.warnings[0]!.detail).toContain(asOf.toISOString());
    await expectBooksToHold();
  });
});

describe("the state of a case", () => {
  test("a case on hold stays on hold", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 60);
    await holdCase(database.em(), { lender, loan, reason: "dispute" }, ENVIRONMENT);
    expect(await reversed(database, aReversal(lender, loan, "A"))).toMatchObject({ statusAfter: "on_hold" });
    await releaseCase(database.em(), { lender, loan, reason: null }, ENVIRONMENT);
    expect(await currentCase(database, lender, loan)).toMatchObject({
      status: "in_progress",
      outstandingMinor: 10_000n,
    });
    await expectBooksToHold();
  });

  test("a reopened case has no field partner if its field partner is suspended", async () => {
    const suspended = await aFieldPartner(database);
    const { sourceLoanNumber: loan } = await aCase(database, lender, {
      fieldPartner: suspended,
      row: { outstandingAmount: 100 },
    });
    await pay(loan, "A", 100);
    await transaction(database.em(), (tx) => suspendFieldPartner(tx, suspended.id, new Date()));
    await reversed(database, aReversal(lender, loan, "A"));
    expect(await currentCase(database, lender, loan)).toMatchObject({
      status: "in_progress",
      assignedFieldPartnerId: null,
    });
    const reopened = (await eventsOfLoan(database, { lenderId: lender.id, sourceLoanNumber: loan })).at(-1);
    expect(reopened).toMatchObject({ kind: "case.reopened", data: { fieldPartner: null } });
    await expectBooksToHold();
  });

  test.each(["closed", "withdrawn"])(
    "a case that is %s keeps its status, and only its amounts change",
    async (status) => {
      const loan = await aLoan();
      await pay(loan, "A", 60);
      const row = status === "closed" ? { ...BORROWER, outstandingAmount: 0 } : { action: "withdraw" };
      await importRow(database, lender, { sourceLoanNumber: loan, ...row });
      expect(await reversed(database, aReversal(lender, loan, "A"))).toMatchObject({
        statusAfter: status,
        outstandingAfterMinor: status === "closed" ? 6_000n : 10_000n,
      });
      expect((await kinds(loan)).at(-1)).toBe("payment.reversed");
      await expectBooksToHold();
    },
  );

  test("a payment of an earlier cycle is owed again on the current case", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 100, new Date(Date.now() - 2 * DAY_MS));
    const first = await currentCase(database, lender, loan);
    await importRow(database, lender, { sourceLoanNumber: loan, ...BORROWER, outstandingAmount: 500 });
    const reversal = await reversed(database, aReversal(lender, loan, "A"));
    const second = await currentCase(database, lender, loan);
    expect(second).toMatchObject({ cycle: 2, status: "new", outstandingMinor: 60_000n, sequence: reversal.sequence });
    expect(reversal).toMatchObject({
      caseId: first.id,
      cycle: 1,
      statusAfter: "new",
      outstandingAfterMinor: 60_000n,
      currentCaseId: second.id,
      currentAdjustmentMinor: 10_000n,
    });
    const event = (await eventsOfLoan(database, { lenderId: lender.id, sourceLoanNumber: loan })).at(-1);
    expect(event).toMatchObject({ kind: "payment.reversed", cycle: 2, outstandingAfter: 600, data: { cycle: 1 } });
    await expectBooksToHold();
  });

  test("an earlier case in another currency owes its own payment", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 60, new Date(Date.now() - 2 * DAY_MS));
    await pay(loan, "B", 80, new Date(Date.now() - DAY_MS));
    const first = await currentCase(database, lender, loan);
    await importRow(database, lender, {
      sourceLoanNumber: loan,
      ...BORROWER,
      currency: "USD",
      outstandingAmount: 500,
      outstandingAsOf: new Date(Date.now() + 60_000).toISOString(),
    });
    const second = await currentCase(database, lender, loan);
    expect(second).toMatchObject({ cycle: 2, currency: "USD", outstandingMinor: 50_000n });

    const reversal = await reversed(database, aReversal(lender, loan, "A"));
    expect(reversal).toMatchObject({
      caseId: first.id,
      currency: "INR",
      amountMinor: 6_000n,
      inBalance: false,
      outstandingAfterMinor: 2_000n,
      totalCollectedAfterMinor: 8_000n,
      totalReversedAfterMinor: 6_000n,
      excessAfterMinor: 0n,
      statusAfter: "collected",
      reapplied: [{ amountMinor: "4000" }],
      sequence: second.sequence + 1n,
      currentCaseId: null,
      warnings: [],
    });
    expect(await caseById(database.em(), { lenderId: lender.id, caseId: first.id })).toMatchObject({
      outstandingMinor: 2_000n,
      excessMinor: 0n,
      sequence: first.sequence,
    });
    expect(await currentCase(database, lender, loan)).toMatchObject({
      status: "new",
      outstandingMinor: 50_000n,
      totalCollectedMinor: 0n,
      sequence: reversal.sequence,
    });
    const event = (await eventsOfLoan(database, { lenderId: lender.id, sourceLoanNumber: loan })).at(-1);
    expect(event).toMatchObject({
      kind: "payment.reversed",
      cycle: 2,
      outstandingAfter: 500,
      data: { caseId: publicId("case", first.id), amount: 60, totalReversed: 60 },
    });
    await expectBooksToHold();
  });
});

describe("a repeated request for a reversal", () => {
  test("returns the first reversal, whatever has happened since", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 60);
    const request = aReversal(lender, loan, "A", { reversalReference: "cafe\u0301" });
    const first = await reversed(database, request);
    await pay(loan, "B", 100);
    expect(await reversePayment(database.em(), request, ENVIRONMENT)).toEqual({
      kind: "duplicate",
      original: first,
      differences: [],
    });
    const other = { ...request, reversalReference: "café", amount: new AmountLiteral("-1"), reason: "other" as const };
    expect(await reversePayment(database.em(), other, ENVIRONMENT)).toMatchObject({
      kind: "duplicate",
      original: { id: first.id },
      differences: ["amount", "reason"],
    });
  });

  test("that runs at the same time as the first one returns the same reversal", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 60);
    const request = aReversal(lender, loan, "A", { amount: "10" });
    const calls = Array.from({ length: 12 }, () => reversePayment(database.em(), request, ENVIRONMENT));
    const outcomes = await Promise.all(calls);
    const [first] = outcomes.flatMap((one) => (one.kind === "reversed" ? one.reversal : []));
    expect(outcomes.filter(({ kind }) => kind === "reversed")).toHaveLength(1);
    const originals = outcomes.flatMap((one) => (one.kind === "duplicate" ? one.original : []));
    expect(originals).toEqual(Array.from({ length: 11 }, () => first));
    await expectBooksToHold();
  });
});

test("concurrent partial reversals never add up to more than the payment", async () => {
  const loan = await aLoan();
  await pay(loan, "A", 60);
  const calls = Array.from({ length: 12 }, () =>
    reversePayment(database.em(), aReversal(lender, loan, "A", { amount: "7" }), ENVIRONMENT),
  );
  const kindsOfOutcome = (await Promise.all(calls)).map((one) => (one.kind === "refused" ? one.code : one.kind));
  expect(kindsOfOutcome.filter((kind) => kind === "reversed")).toHaveLength(8);
  expect(kindsOfOutcome.filter((kind) => kind === "REVERSAL_EXCEEDS_PAYMENT")).toHaveLength(4);
  expect(await reversed(database, aReversal(lender, loan, "A"))).toMatchObject({ amountMinor: 400n });
  expect(await reversePayment(database.em(), aReversal(lender, loan, "A"), ENVIRONMENT)).toMatchObject({
    code: "REVERSAL_EXCEEDS_PAYMENT",
  });
  await expectBooksToHold();
});

describe("a payout", () => {
  test("deducts an earning that was paid out before its payment was reversed, and carries the rest over", async () => {
    const partner = await aFieldPartner(database);
    const loanOf = async (outstandingAmount: number) =>
      (await aCase(database, lender, { fieldPartner: partner, row: { outstandingAmount } })).sourceLoanNumber;
    const record = (amountMinor: bigint, reference: string) =>
      recordPayout(database.em(), {
        fieldPartnerId: partner.id,
        currency: lender.currency,
        amountMinor,
        reference: `${reference}-${lender.code}`,
        paidOn: new Date().toISOString().slice(0, 10),
        until: null,
      });
    const [first, second, third] = [await loanOf(400), await loanOf(100), await loanOf(400)];
    await pay(first, "A", 400);
    expect(await record(1_000n, "P1")).toMatchObject({ kind: "recorded" });
    await reversed(database, aReversal(lender, first, "A"));
    expect(await payoutPreview(database.em(), partner.id, null)).toMatchObject({
      credited: [],
      carried: [{ lines: 1, amountMinor: -1_000n, deductedMinor: 1_000n }],
    });
    expect(await record(0n, "P2")).toMatchObject({ kind: "nothing_to_pay" });
    await pay(second, "B", 100);
    expect(await payoutPreview(database.em(), partner.id, null)).toMatchObject({ carried: [{ amountMinor: -750n }] });
    await expectBooksToHold();
    await pay(third, "C", 400);
    expect(await payoutPreview(database.em(), partner.id, null)).toMatchObject({
      credited: [{ lines: 3, amountMinor: 250n, deductedMinor: 1_000n }],
      carried: [],
    });
    expect(await record(1_250n, "P3")).toMatchObject({ kind: "amount_differs", creditedMinor: 250n });
    expect(await record(250n, "P4")).toMatchObject({ kind: "recorded", payout: { lines: 3 } });
    await expectBooksToHold();
  });
});

test("an invalid reversal is refused, and nothing is written", async () => {
  const loan = await aLoan();
  await pay(loan, "A", 60);
  const refusal = async (given: Parameters<typeof aReversal>[3], reference = "A", of = loan) => {
    const outcome = await reversePayment(database.em(), aReversal(lender, of, reference, given), ENVIRONMENT);
    return outcome.kind === "refused" ? outcome.code : outcome.kind;
  };
  expect(await refusal({}, "A", "LN-UNKNOWN")).toBe("LOAN_NOT_FOUND");
  expect(await refusal({}, "B")).toBe("PAYMENT_NOT_FOUND");
  expect(await refusal({ amount: "60.01" })).toBe("REVERSAL_EXCEEDS_PAYMENT");
  expect(await refusal({ amount: "1.001" })).toBe("AMOUNT_PRECISION");
  expect(await refusal({ amount: "0" })).toBe("AMOUNT_OUT_OF_RANGE");
  expect(await refusal({ reversedAt: new Date(Date.now() - DAY_MS) })).toBe("REVERSED_BEFORE_PAID");
  expect(await refusal({ reversedAt: new Date(Date.now() + 6 * 60_000) })).toBe("REVERSED_AT_IN_FUTURE");
  expect(await refusal({ reversalReference: "RV\u200b1" })).toBe("INVALID_TEXT");
  expect(await currentCase(database, lender, loan)).toMatchObject({ totalReversedMinor: 0n, outstandingMinor: 4_000n });
});

describe("a dry run", () => {
  test("of a reversal returns its effects and writes nothing", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 100);
    const before = await currentCase(database, lender, loan);
    const outcome = await reversePayment(database.em(), aReversal(lender, loan, "A"), ENVIRONMENT, { dryRun: true });
    expect(outcome).toMatchObject({
      kind: "reversed",
      effects: { reopened: true, caseAfter: { status: "in_progress" }, earnings: [{ creditedChangeMinor: -250n }] },
    });
    expect(await currentCase(database, lender, loan)).toEqual(before);
    expect(await transfersOf(database.em(), lender.id, before.id)).toHaveLength(4);
  });
});
