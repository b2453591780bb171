import assert from "node:assert/strict";
import { statementOf } from "@collections/bookings";
import { caseByLoan } from "@collections/cases";
import { transaction } from "@collections/database";
import { verifyBooks } from "@collections/flows";
import { lenderByCode, suspendLender } from "@collections/lenders";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { loanEvents } from "../fixtures/loan-events.ts";

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let lenderId: string;
let made = 0;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  lenderId = (await lenderByCode(service.app.database.em(), lender.code))!.id;
});

/** After each test, checks that the verification of the books finds no problem. */
afterEach(async () => {
  const { problems } = await verifyBooks(service.app.database.em(), { lenderId, now: new Date() });
  assert.deepEqual(problems, []);
});

async function aLoan(outstandingAmount = 100): Promise<string> {
  made += 1;
  const loan = `LN-${made}`;
  await lender.importCases([aRow(loan, { outstandingAmount })]);
  return loan;
}

async function pay(loan: string, reference: string, amount: number): Promise<void> {
  const paidAt = new Date().toISOString();
  const { status } = await lender.confirm(loan, { reference, amount, paidAt, mode: "upi", amountIsMajorUnits: true });
  expect(status).toBe(200);
}

function reversal(fields: object = {}) {
  const reversedAt = new Date().toISOString();
  return { reference: "A", reversalReference: "rev_1", reversedAt, reason: "bounced", ...fields };
}

const reverse = (loan: string, body: object) =>
  lender.call("POST", `/api/v1/partner/cases/${encodeURIComponent(loan)}/payments/reverse`, body);

describe("a reversal", () => {
  test("of the first of two payments answers with the state of the case, which is reopened", async () => {
    const loan = await aLoan();
    const fieldPartner = await aFieldPartner(service);
    await assign(service, lender.code, loan, fieldPartner.id);
    await pay(loan, "A", 80);
    await pay(loan, "B", 80);
    const { status, body } = await reverse(loan, reversal());
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      caseId: expect.stringMatching(/^case_[0-9a-f]{32}$/) as string,
      cycle: 1,
      reference: "A",
      reversalReference: "rev_1",
      amount: 80,
      outstandingAfter: 20,
      status: "in_progress",
      totalCollected: 80,
      totalReversed: 80,
      excessAmount: 0,
      sequence: 6,
      recordedAt: expect.any(String) as string,
      warnings: [],
    });
    const events = await loanEvents(service, lender.code, loan);
    expect(events.slice(-2)).toMatchObject([
      {
        kind: "payment.reversed",
        sequence: 6,
        status: "in_progress",
        totalCollected: 80,
        outstandingAfter: 20,
        data: {
          reference: "A",
          reversalReference: "rev_1",
          amount: 80,
          reason: "bounced",
          inBalance: false,
          totalReversed: 80,
        },
      },
      { kind: "case.reopened", sequence: 7, data: { reference: "A", fieldPartner: { displayName: "Asha Rao" } } },
    ]);
  });

  test("is shown in the snapshot of the case, in the list of payments, and in the account statement", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 100);
    await reverse(loan, reversal({ amount: 30.5 }));
    const { body } = await lender.call("GET", `/api/v1/partner/cases/${loan}`);
    expect(body).toMatchObject({
      status: "in_progress",
      totalCollected: 69.5,
      totalReversed: 30.5,
      outstandingAfter: 30.5,
      closedAt: null,
      payments: [
        { reference: "A", amount: 100, reversals: [{ reversalReference: "rev_1", amount: 30.5, reason: "bounced" }] },
      ],
    });
    const reversals = [expect.objectContaining({ reversalReference: "rev_1", amount: 30.5 })];
    const { body: list } = await lender.call("GET", `/api/v1/partner/payments?loan=${loan}`);
    expect(list).toMatchObject({ payments: [{ sourceLoanNumber: loan, reference: "A", amount: 100, reversals }] });
    const em = service.app.database.em();
    const { id: caseId } = (await caseByLoan(em, lenderId, loan))!;
    const [statement] = await statementOf(em, { lenderId, caseIds: [caseId] });
    expect(statement!.lines.map(({ kind, memo, balanceMinor }) => [kind, memo, balanceMinor])).toEqual([
      ["placement", "Placed for collection", 10_000n],
      ["payment", "Payment A", 0n],
      ["correction", "Reversal rev_1 of payment A", 3_050n],
    ]);
  });

  test("in part takes the payment's own excess first, and the case stays collected while nothing is outstanding", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 150);
    expect((await reverse(loan, reversal({ amount: 30 }))).body).toMatchObject({
      status: "collected",
      outstandingAfter: 0,
      excessAmount: 20,
      totalCollected: 120,
    });
    expect((await reverse(loan, reversal({ reversalReference: "rev_2", amount: 30 }))).body).toMatchObject({
      status: "in_progress",
      outstandingAfter: 10,
      excessAmount: 0,
      totalReversed: 60,
    });
    expect((await reverse(loan, reversal({ reversalReference: "rev_3" }))).body).toMatchObject({
      amount: 90,
      outstandingAfter: 100,
      totalCollected: 0,
    });
    const kinds = (await loanEvents(service, lender.code, loan)).map(({ kind }) => kind);
    expect(kinds.slice(-4)).toEqual(["payment.reversed", "payment.reversed", "case.reopened", "payment.reversed"]);
  });

  test("reopens a collected case, and case.closed is sent again when the case is cleared again", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 100);
    await reverse(loan, reversal());
    await pay(loan, "B", 100);
    const events = await loanEvents(service, lender.code, loan);
    expect(events.map(({ kind }) => kind)).toEqual([
      "case.created",
      "payment.collected",
      "case.closed",
      "payment.reversed",
      "case.reopened",
      "payment.collected",
      "case.closed",
    ]);
    expect((await lender.getCase(loan)).body).toMatchObject({ status: "collected", cycle: 1, totalReversed: 100 });
  });

  test.each([
    ["withdrawn", { action: "withdraw", reason: "recalled" }, 100],
    ["closed", aRow("", { outstandingAmount: 0 }), 60],
  ])("on a %s case changes the amounts and not the state", async (status, row, outstandingAfter) => {
    const loan = await aLoan();
    await pay(loan, "A", 60);
    await lender.importCases([{ ...row, sourceLoanNumber: loan }]);
    expect((await lender.getCase(loan)).body).toMatchObject({ status });
    expect((await reverse(loan, reversal())).body).toMatchObject({ status, outstandingAfter, totalCollected: 0 });
    const kinds = (await loanEvents(service, lender.code, loan)).map(({ kind }) => kind);
    expect(kinds.at(-1)).toBe("payment.reversed");
    expect(kinds).not.toContain("case.reopened");
  });

  test("of an earlier cycle answers with the state of the current case", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 100);
    const outstandingAsOf = new Date(Date.now() + 60_000).toISOString();
    await lender.importCases([aRow(loan, { outstandingAmount: 500, outstandingAsOf })]);
    const { caseId } = (await lender.getCase(loan)).body;
    const current = { status: "new", outstandingAfter: 500, totalReversed: 0 };
    const warnings = [{ code: "REVERSAL_IN_BALANCE" }];
    expect((await reverse(loan, reversal())).body).toMatchObject({ ...current, caseId, cycle: 1, warnings });
    expect((await lender.getCase(loan)).body).toMatchObject({ ...current, cycle: 2 });
    const [event] = (await loanEvents(service, lender.code, loan)).slice(-1);
    expect(event).toMatchObject({ kind: "payment.reversed", outstandingAfter: 500, data: { cycle: 1 } });
  });

  test("with an unknown field gets a warning, and a repeat of the reversal returns this warning again", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 60);
    const body = reversal({ amonut: 5, note: "Cheque 000417" });
    const first = await reverse(loan, body);
    expect(first.body).toMatchObject({ amount: 60, warnings: [{ code: "UNKNOWN_FIELD", pointer: "/amonut" }] });
    expect((await reverse(loan, body)).body).toMatchObject({
      original: { warnings: [{ code: "UNKNOWN_FIELD" }], note: "Cheque 000417" },
    });
  });

  test("of a suspended lender is recorded", async () => {
    const other = await aLender(service);
    await other.importCases([aRow("LN-1", { outstandingAmount: 100 })]);
    const { id } = (await lenderByCode(service.app.database.em(), other.code))!;
    const paidAt = new Date().toISOString();
    await other.confirm("LN-1", { reference: "A", amount: 60, paidAt, mode: "upi" });
    await transaction(service.app.database.em(), (tx) => suspendLender(tx, id, "The contract ended"));
    const { status } = await other.call("POST", "/api/v1/partner/cases/LN-1/payments/reverse", reversal());
    expect(status).toBe(200);
  });
});

describe("a repeat of a reversal", () => {
  test("gets 409 with the first answer, even after a later payment and even if its own amount is invalid", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 60);
    const body = reversal();
    const first = await reverse(loan, body);
    await pay(loan, "B", 100);
    const { status, body: repeat } = await reverse(loan, body);
    expect(status).toBe(409);
    const { reference: _, reversalReference: __, ...sent } = body;
    expect(repeat).toMatchObject({
      code: "DUPLICATE_REVERSAL",
      retryable: false,
      matches: true,
      differences: [],
      original: { ...(first.body as object), ...sent, note: null },
    });
    const other = await reverse(loan, { ...body, amount: -5, reason: "other" });
    expect(other.body).toMatchObject({ code: "DUPLICATE_REVERSAL", matches: false, differences: ["amount", "reason"] });
  });

  test("gets 409 with the first answer, even if it is concurrent with the first request", async () => {
    const loan = await aLoan();
    await pay(loan, "A", 60);
    const body = reversal();
    const answers = await Promise.all(Array.from({ length: 12 }, () => reverse(loan, body)));
    const first = answers.filter(({ status }) => status === 200);
    expect(first).toHaveLength(1);
    const repeats = answers.filter(({ status }) => status === 409).map((answer) => answer.body["original"]);
    expect(repeats).toHaveLength(11);
    for (const original of repeats) expect(original).toMatchObject(first[0]!.body);
  });
});

test("concurrent partial reversals of a payment are refused once they would exceed the amount of the payment", async () => {
  const loan = await aLoan();
  await pay(loan, "A", 60);
  const calls = Array.from({ length: 12 }, (_, at) =>
    reverse(loan, reversal({ reversalReference: `rev_${at}`, amount: 7 })),
  );
  const codes = (await Promise.all(calls)).map(({ status, body }) => (status === 200 ? 200 : body["code"]));
  expect(codes.filter((code) => code === 200)).toHaveLength(8);
  expect(codes.filter((code) => code === "REVERSAL_EXCEEDS_PAYMENT")).toHaveLength(4);
  const { body } = await lender.call("GET", `/api/v1/partner/cases/${loan}`);
  expect(body).toMatchObject({ totalReversed: 56, totalCollected: 4, outstandingAfter: 96 });
});

test.each<[string, object, number, string, string?]>([
  ["an unknown payment", { reference: "B" }, 404, "PAYMENT_NOT_FOUND"],
  ["more than the payment", { amount: 60.01 }, 422, "REVERSAL_EXCEEDS_PAYMENT", "/amount"],
  ["a time before the payment", { reversedAt: "2026-01-01T00:00:00Z" }, 422, "REVERSED_BEFORE_PAID", "/reversedAt"],
  [
    "a time in the future",
    { reversedAt: new Date(Date.now() + 24 * 60 * 60_000).toISOString() },
    422,
    "REVERSED_AT_IN_FUTURE",
    "/reversedAt",
  ],
  ["a time without a zone", { reversedAt: "2026-11-20T09:40:55" }, 422, "NOT_UTC", "/reversedAt"],
  ["an unknown reason", { reason: "because" }, 422, "INVALID_ENUM", "/reason"],
  ["no reason", { reason: undefined }, 422, "REQUIRED", "/reason"],
  ["an amount as a string", { amount: "5" }, 422, "WRONG_TYPE", "/amount"],
  ["an amount of 0", { amount: 0 }, 422, "AMOUNT_OUT_OF_RANGE", "/amount"],
  ["too many decimals", { amount: 1.001 }, 422, "AMOUNT_PRECISION", "/amount"],
  ["an invisible character", { reversalReference: "rev\u200b1" }, 422, "INVALID_TEXT", "/reversalReference"],
  ["a long note", { note: "x".repeat(501) }, 422, "TOO_LONG", "/note"],
])("a reversal with %s is refused and changes nothing", async (_, fields, status, code, pointer) => {
  const loan = await aLoan();
  await pay(loan, "A", 60);
  const answer = await reverse(loan, reversal(fields));
  expect([answer.status, answer.body["code"]]).toEqual([status, code]);
  const errors = (answer.body["errors"] ?? []) as { pointer: string }[];
  expect(errors.map((error) => error.pointer)).toEqual(pointer === undefined ? [] : [pointer]);
  const { body } = await lender.call("GET", `/api/v1/partner/cases/${loan}`);
  expect(body).toMatchObject({ totalReversed: 0, outstandingAfter: 40 });
});

test("a reversal of a loan that was never imported is refused as LOAN_NOT_FOUND", async () => {
  expect(await reverse("LN-UNKNOWN", reversal())).toMatchObject({ status: 404, body: { code: "LOAN_NOT_FOUND" } });
});

describe("a balance after a reversal", () => {
  const at = (minute: number) => new Date(Date.now() + minute * 60_000).toISOString();

  test("that is older than the reversal is increased by the reversed amount, and the import warns of it", async () => {
    const loan = await aLoan(1_000);
    await pay(loan, "A", 600);
    await reverse(loan, reversal({ reversedAt: at(4) }));
    const row = aRow(loan, { outstandingAmount: 390, outstandingAsOf: at(2) });
    const { body } = await lender.importCases([row]);
    expect((body["results"] as object[])[0]).toMatchObject({
      outcome: "updated",
      outstandingAmount: 990,
      warnings: [{ code: "REVERSAL_AFTER_SNAPSHOT", pointer: "/rows/0/outstandingAmount" }],
    });
  });

  test("stays unchanged when a reversal arrives that it already includes", async () => {
    const loan = await aLoan(1_000);
    await pay(loan, "A", 600);
    const asOf = at(4);
    await lender.importCases([aRow(loan, { outstandingAmount: 1_000, outstandingAsOf: asOf })]);
    const { body } = await reverse(loan, reversal());
    expect(body).toMatchObject({
      outstandingAfter: 1_000,
      totalCollected: 0,
      totalReversed: 600,
      warnings: [
        { code: "REVERSAL_IN_BALANCE", pointer: "/reversedAt", detail: expect.stringContaining(asOf) as string },
      ],
    });
  });
});
