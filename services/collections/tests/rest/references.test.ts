import { withoutTriggers } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

const COMPOSED = "reçu-é-1";
const DECOMPOSED = COMPOSED.normalize("NFD");

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let loansMade = 0;

beforeAll(async () => {
  service = await startTestService();
  lender = await aLender(service);
});

async function aLoan(): Promise<string> {
  loansMade += 1;
  const loan = `LN-${loansMade}`;
  await lender.importCases([aRow(loan)]);
  return loan;
}

function confirm(loan: string, reference: string, amount = 100) {
  return lender.confirm(loan, { amount, reference, paidAt: "2026-11-20T09:40:55Z", mode: "upi" });
}

/** Rewrites the reference of a booking in the form in which the lender sent it, as earlier versions stored it. */
async function rewriteReference(loan: string, from: string, to: string): Promise<void> {
  const { rowCount } = await withoutTriggers(service.app.database.pool, (client) =>
    client.query("update ledger.payment_booking set reference = $3 where source_loan_number = $1 and reference = $2", [
      loan,
      from,
      to,
    ]),
  );
  expect(rowCount).toBe(1);
}

describe("a payment reference that has a composed and a decomposed Unicode form", () => {
  test("is the same reference in both forms, and is stored in the composed form", async () => {
    const loan = await aLoan();
    const first = await confirm(loan, DECOMPOSED);
    expect(first).toMatchObject({ status: 200, body: { reference: COMPOSED } });
    for (const reference of [COMPOSED, DECOMPOSED]) {
      const repeat = await confirm(loan, reference);
      expect(repeat).toMatchObject({ status: 409, body: { matches: true, original: { reference: COMPOSED } } });
    }
    expect((await lender.getCase(loan)).body).toMatchObject({ totalCollected: 100 });
  });

  test("is booked once when concurrent confirmations use both forms", async () => {
    const loan = await aLoan();
    const references = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? COMPOSED : DECOMPOSED));
    const answers = await Promise.all(references.map((reference) => confirm(loan, reference)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(19);
  });

  test("finds, whichever form it has, a booking that an earlier version stored in the decomposed form", async () => {
    const loan = await aLoan();
    await confirm(loan, COMPOSED);
    await rewriteReference(loan, COMPOSED, DECOMPOSED);
    for (const reference of [DECOMPOSED, COMPOSED]) {
      const repeat = await confirm(loan, reference);
      expect(repeat).toMatchObject({ status: 409, body: { original: { reference: DECOMPOSED } } });
    }
  });

  test("finds the booking that has the same form, if an earlier version booked one payment for each form", async () => {
    const loan = await aLoan();
    await confirm(loan, "first", 100);
    await confirm(loan, "second", 200);
    await rewriteReference(loan, "first", COMPOSED);
    await rewriteReference(loan, "second", DECOMPOSED);
    expect((await confirm(loan, COMPOSED, 100)).body).toMatchObject({ matches: true });
    expect((await confirm(loan, DECOMPOSED, 200)).body).toMatchObject({ matches: true });
  });
});

describe("a payment reference with an invisible character", () => {
  test.each([
    ["a zero-width space", "\u200b"],
    ["a right-to-left override", "\u202e"],
    ["a soft hyphen", "\u00ad"],
    ["a control character of C1", "\u0085"],
    ["a line separator", "\u2028"],
    ["a variation selector", "\ufe0f"],
    ["a tag character", "\u{e0061}"],
  ])("such as %s is rejected with the pointer of the field, and nothing is booked", async (_name, character) => {
    const loan = await aLoan();
    const answer = await confirm(loan, `pay${character}_1`);
    expect(answer).toMatchObject({
      status: 422,
      body: { code: "INVALID_TEXT", errors: [{ code: "INVALID_TEXT", pointer: "/reference" }] },
    });
    expect((await lender.getCase(loan)).body).toMatchObject({ totalCollected: 0, sequence: 1 });
  });

  test("is still answered with its booking if an earlier version booked it", async () => {
    const loan = await aLoan();
    await confirm(loan, "pay_1");
    await rewriteReference(loan, "pay_1", "pay\u200b_1");
    expect(await confirm(loan, "pay\u200b_1")).toMatchObject({ status: 409, body: { matches: true } });
    expect(await confirm(loan, "pay\u200b_2")).toMatchObject({ status: 422 });
  });
});

describe("the loan numbers . and .., which URL parsers remove from a path", () => {
  test("are rejected in an import", async () => {
    const { body } = await lender.importCases([aRow("."), aRow(".."), aRow("..1"), aRow("LN..1")]);
    expect(body["results"]).toMatchObject([
      { outcome: "rejected", errors: [{ code: "WRONG_TYPE", pointer: "/rows/0/sourceLoanNumber" }] },
      { outcome: "rejected", errors: [{ detail: expect.stringContaining('".."') as unknown }] },
      { outcome: "created" },
      { outcome: "created" },
    ]);
  });

  test("get LOAN_NOT_FOUND in a path, encoded or not, even if an earlier version imported such a loan", async () => {
    const { pool } = service.app.database;
    const loan = await aLoan();
    await pool.query("update cases.collection_case set source_loan_number = '..' where source_loan_number = $1", [
      loan,
    ]);
    const body = { amount: 1, reference: "r", paidAt: "2026-11-20T09:40:55Z", mode: "upi" };
    for (const segment of ["..", "%2e%2e", ".%2E"]) {
      const answer = await lender.call("POST", `/api/v1/partner/cases/${segment}/payments/confirm`, body);
      expect(answer.body).toMatchObject({ status: 404, code: "LOAN_NOT_FOUND" });
    }
    expect((await confirm("LN..1", "r")).status).toBe(200);
  });
});
