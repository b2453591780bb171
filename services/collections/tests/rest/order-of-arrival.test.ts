import assert from "node:assert/strict";
import { statementOf } from "@collections/bookings";
import { caseByLoan } from "@collections/cases";
import { verifyBooks } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { type LoanEvent, loanEvents } from "../fixtures/loan-events.ts";

/** Returns noon of a day in October 2026. */
const day = (ofMonth: number) => `2026-10-${String(ofMonth).padStart(2, "0")}T12:00:00.000Z`;
const LONG_AGO = "2026-10-01T00:00:00Z";

interface Body {
  readonly [field: string]: unknown;
}

interface Warning {
  readonly code: string;
  readonly pointer: string;
  readonly detail: string;
}

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let lenderId: string;
let loansMade = 0;

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

function aLoan(): string {
  loansMade += 1;
  return `LN-${loansMade}`;
}

/** Imports a balance. `asOf` is a day of October 2026, an instant, null, or absent. */
async function balance(loan: string, amount: number, asOf?: number | string | null): Promise<Body> {
  const outstandingAsOf = typeof asOf === "number" ? day(asOf) : asOf;
  const row = aRow(loan, { outstandingAmount: amount, ...(asOf !== undefined && { outstandingAsOf }) });
  const { body } = await lender.importCases([row]);
  return (body["results"] as Body[])[0]!;
}

async function pay(loan: string, amount: number, paidOn: number | string, reference = "UTR9"): Promise<Body> {
  const paidAt = typeof paidOn === "number" ? day(paidOn) : paidOn;
  const { status, body } = await lender.confirm(loan, { amount, reference, paidAt, mode: "upi" });
  return { httpStatus: status, ...body };
}

async function snapshot(loan: string): Promise<Body> {
  return (await lender.getCase(loan)).body;
}

function events(loan: string): Promise<LoanEvent[]> {
  return loanEvents(service, lender.code, loan);
}

async function closings(loan: string): Promise<Body[]> {
  return (await events(loan)).filter(({ kind }) => kind === "case.closed").map(({ data }) => data);
}

/** Assigns the case to a new field partner, with the beginning of the month as the time of assignment. */
async function assignSinceLongAgo(loan: string): Promise<void> {
  await assign(service, lender.code, loan, (await aFieldPartner(service)).id);
  await service.app.database.pool.query(
    "update cases.collection_case set assigned_since = $1 where source_loan_number = $2 and is_current",
    [LONG_AGO, loan],
  );
}

async function earnings(loan: string): Promise<unknown[]> {
  const { rows } = await service.app.database.pool.query(
    `select base_minor::text as base, amount_minor::text as amount, status from earnings.earning
     where source_loan_number = $1 order by earned_at`,
    [loan],
  );
  return rows;
}

const codes = (answer: Body) => (answer["warnings"] as Warning[]).map(({ code }) => code);

describe("an imported balance and a confirmation, in either order", () => {
  test("T-6: a payment confirmed after a balance that includes it does not change the outstanding amount", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    await balance(loan, 500, 22);
    const answer = await pay(loan, 500, 21);
    expect(answer).toMatchObject({
      httpStatus: 200,
      outstandingAfter: 500,
      status: "in_progress",
      totalCollected: 500,
      excessAmount: 0,
      inBalance: 500,
      warnings: [
        {
          code: "PAYMENT_IN_BALANCE",
          pointer: "/paidAt",
          detail: `The balance as of ${day(22)} includes this payment already; the outstanding amount stays as it is.`,
        },
      ],
    });
    expect(await closings(loan)).toEqual([]);
    expect((await events(loan)).at(-1)).toMatchObject({
      kind: "payment.collected",
      data: { excessAmount: 0, inBalance: 500 },
    });
    expect(await balance(loan, 500, 23)).toMatchObject({ outcome: "unchanged", warnings: [] });
  });

  test("T-7: a payment confirmed before the import of a balance that includes it gives the same outstanding amount", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    expect(await pay(loan, 500, 21)).toMatchObject({ outstandingAfter: 500, inBalance: 0, warnings: [] });
    expect(await balance(loan, 500, 22)).toMatchObject({ outcome: "unchanged", outstandingAmount: 500 });
    expect(await snapshot(loan)).toMatchObject({ outstandingAfter: 500, status: "in_progress", totalCollected: 500 });
  });

  test("T-1: an import with an older as-of changes nothing in an open case", async () => {
    const loan = aLoan();
    await balance(loan, 500, 22);
    const before = await events(loan);
    const stale = await lender.importCases([
      aRow(loan, { outstandingAmount: 1000, outstandingAsOf: day(20), borrowerName: "Somebody Else", dpd: 3 }),
    ]);
    expect((stale.body["results"] as Body[])[0]).toMatchObject({
      outcome: "unchanged",
      outstandingAmount: 500,
      warnings: [{ code: "STALE_SNAPSHOT", pointer: "/rows/0/outstandingAsOf" }],
    });
    expect(stale.body).toMatchObject({ success: true, summary: { unchanged: 1, rejected: 0 } });
    expect(await events(loan)).toEqual(before);
    expect(await snapshot(loan)).toMatchObject({ dpd: null, outstandingAfter: 500 });
    expect(await pay(loan, 100, 21)).toMatchObject({ inBalance: 100, outstandingAfter: 500 });
  });

  test("T-5: an unchanged balance with a later as-of includes the payments up to that time", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    const { updatedAt } = await snapshot(loan);
    expect(await balance(loan, 1000, 22)).toMatchObject({ outcome: "unchanged", sequence: 1, warnings: [] });
    expect((await events(loan)).map(({ kind }) => kind)).toEqual(["case.created"]);
    expect((await snapshot(loan))["updatedAt"]).toBe(updatedAt);
    expect(await pay(loan, 300, 21)).toMatchObject({ inBalance: 300, outstandingAfter: 1000 });
    expect(await pay(loan, 300, "2026-10-22T12:00:00.001Z", "UTR10")).toMatchObject({
      inBalance: 0,
      outstandingAfter: 700,
    });
  });

  test("T-2: an as-of a year in the future counts as now, and later payments are subtracted", async () => {
    const loan = aLoan();
    const nextYear = new Date(Date.now() + 365 * 24 * 60 * 60_000).toISOString();
    const row = await balance(loan, 1000, nextYear);
    expect(row).toMatchObject({
      outcome: "created",
      warnings: [{ code: "AS_OF_IN_FUTURE", pointer: "/rows/0/outstandingAsOf" }],
    });
    expect(await pay(loan, 300, new Date().toISOString())).toMatchObject({ inBalance: 0, outstandingAfter: 700 });
    const nearly = new Date(Date.now() + 4 * 60_000).toISOString();
    expect(await balance(aLoan(), 1000, nearly)).toMatchObject({ warnings: [] });
  });

  test("T-3: a payment that a balance of 0 already includes makes the case collected and credits the earning", async () => {
    const loan = aLoan();
    await balance(loan, 900, 20);
    await assignSinceLongAgo(loan);
    expect(await balance(loan, 0, 22)).toMatchObject({ status: "closed" });
    expect(await pay(loan, 900, 21)).toMatchObject({
      status: "collected",
      outstandingAfter: 0,
      totalCollected: 900,
      excessAmount: 0,
      inBalance: 900,
      attribution: "inferred",
    });
    expect(await closings(loan)).toEqual([{ closeReason: "paid_in_full", reference: "UTR9", inBalance: 900 }]);
    expect(await earnings(loan)).toEqual([{ base: "90000", amount: "2250", status: "credited" }]);
    expect(await pay(loan, 50, 21, "UTR10")).toMatchObject({ inBalance: 0, excessAmount: 50, status: "collected" });
    expect(await closings(loan)).toHaveLength(1);
  });

  test("T-4: a payment captured before the case was assigned is attributed to no field partner", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    await assign(service, lender.code, loan, (await aFieldPartner(service)).id);
    expect(await pay(loan, 100, 21)).toMatchObject({ attribution: "none", outstandingAfter: 900 });
    expect(await earnings(loan)).toEqual([]);
    expect(await pay(loan, 100, new Date().toISOString(), "UTR10")).toMatchObject({ attribution: "inferred" });
    await assign(service, lender.code, loan, (await aFieldPartner(service)).id);
    const beforeTheSecond = new Date(Date.now() - 60_000).toISOString();
    expect(await pay(loan, 100, beforeTheSecond, "UTR11")).toMatchObject({ attribution: "none" });
  });

  test("a case without a recorded time of assignment attributes payments to its field partner", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    await assignSinceLongAgo(loan);
    await service.app.database.pool.query(
      "update cases.collection_case set assigned_since = null where source_loan_number = $1",
      [loan],
    );
    expect(await pay(loan, 100, 21)).toMatchObject({ attribution: "inferred" });
  });
});

describe("a balance and payments that clear the case", () => {
  test("a balance of 0 that is imported after 400 of 900 were paid closes the case as settled by the lender", async () => {
    const loan = aLoan();
    await balance(loan, 900, 20);
    await pay(loan, 400, 21);
    expect(await balance(loan, 0, 22)).toMatchObject({ status: "closed", outstandingAmount: 0 });
    expect(await snapshot(loan)).toMatchObject({ status: "closed", closeReason: "settled_by_lender" });
  });

  test("a payment of 400 of 900 that is confirmed after a balance of 0 makes the case collected", async () => {
    const loan = aLoan();
    await balance(loan, 900, 20);
    await balance(loan, 0, 22);
    expect(await pay(loan, 400, 21)).toMatchObject({ status: "collected", inBalance: 400, excessAmount: 0 });
    expect(await snapshot(loan)).toMatchObject({ cycle: 1, totalCollected: 400, outstandingAfter: 0 });
  });

  test("a balance of 1000 that is imported after a payment of 1000 was confirmed opens cycle 2", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    expect(await pay(loan, 1000, 21)).toMatchObject({ status: "collected" });
    expect(await balance(loan, 1000, 19)).toMatchObject({
      outcome: "unchanged",
      warnings: [{ code: "STALE_SNAPSHOT", pointer: "/rows/0/outstandingAsOf" }],
    });
    expect(await balance(loan, 1000, 22)).toMatchObject({ outcome: "reopened" });
    expect(await snapshot(loan)).toMatchObject({ cycle: 2, outstandingAfter: 1000 });
  });

  test("a balance of 1000 that is imported before the payment of 1000 is confirmed keeps the case in cycle 1", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    await balance(loan, 1000, 22);
    expect(await pay(loan, 1000, 21)).toMatchObject({ status: "in_progress", inBalance: 1000, outstandingAfter: 1000 });
    expect(await snapshot(loan)).toMatchObject({ cycle: 1 });
  });

  test("a balance makes the case collected, and credits earnings, if payments after its as-of cover it", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    await assignSinceLongAgo(loan);
    await pay(loan, 300, 24, "UTR-last");
    await pay(loan, 300, 23, "UTR-first");
    expect(await balance(loan, 600, 22)).toMatchObject({
      outcome: "updated",
      status: "collected",
      outstandingAmount: 0,
      warnings: [{ code: "PAYMENT_AFTER_SNAPSHOT" }],
    });
    expect(await snapshot(loan)).toMatchObject({ closeReason: "paid_in_full", totalCollected: 600, excessAmount: 0 });
    expect(await closings(loan)).toEqual([{ closeReason: "paid_in_full", reference: "UTR-last" }]);
    expect((await events(loan)).map(({ kind }) => kind)).not.toContain("case.returned");
    expect(await earnings(loan)).toMatchObject([{ status: "credited" }, { status: "credited" }]);
  });
});

describe("the stored as-of of a balance", () => {
  test("is kept when a balance without an as-of is imported, and cleared by null", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    await balance(loan, 900);
    expect(await pay(loan, 100, 19)).toMatchObject({ inBalance: 100, outstandingAfter: 900 });
    expect(await balance(loan, 900, null)).toMatchObject({ outcome: "unchanged", sequence: 3 });
    expect(await pay(loan, 100, 19, "UTR10")).toMatchObject({ inBalance: 0, outstandingAfter: 800 });
    expect(await balance(loan, 700, 18)).toMatchObject({ outcome: "updated", outstandingAmount: 500 });
  });

  test("does not prevent a corrected balance with the same as-of, or a control row with an older as-of", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    expect(await balance(loan, 950, 20)).toMatchObject({ outcome: "updated", outstandingAmount: 950, warnings: [] });
    const order = { sourceLoanNumber: loan, action: "hold", reason: "dispute", outstandingAsOf: day(1) };
    const { body } = await lender.importCases([order]);
    expect((body["results"] as Body[])[0]).toMatchObject({ outcome: "updated", status: "on_hold" });
  });

  test("is not changed by a dry run", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    const row = aRow(loan, { outstandingAmount: 1000, outstandingAsOf: day(22) });
    expect((await lender.importCases([row], { dryRun: true })).body).toMatchObject({ summary: { unchanged: 1 } });
    expect(await pay(loan, 100, 21)).toMatchObject({ inBalance: 0, outstandingAfter: 900 });
  });

  test("does not become earlier when an earlier import is repeated", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    const path = "/api/v1/partner/cases";
    const body = JSON.stringify({ rows: [aRow(loan, { outstandingAmount: 1000, outstandingAsOf: day(21) })] });
    const timestamp = String(Date.now());
    expect((await lender.call("POST", path, body, { timestamp })).body).toMatchObject({ summary: { unchanged: 1 } });
    await balance(loan, 800, 22);
    expect((await lender.call("POST", path, body, { timestamp })).body).toMatchObject({
      summary: { unchanged: 1 },
      results: [{ outcome: "unchanged", outstandingAmount: 800 }],
    });
    expect(await pay(loan, 100, 22)).toMatchObject({ inBalance: 100, outstandingAfter: 800 });
  });
});

describe("a payment that the balance already includes", () => {
  test("counts as inBalance up to the highest amount that was owed in the cycle, and beyond it as excess", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 22);
    expect(await pay(loan, 700, 20, "a")).toMatchObject({ inBalance: 700, excessAmount: 0 });
    expect(await pay(loan, 700, 21, "b")).toMatchObject({ inBalance: 300, excessAmount: 400, outstandingAfter: 1000 });
    const third = await pay(loan, 10, 21, "c");
    expect(third).toMatchObject({ inBalance: 0, excessAmount: 10, outstandingAfter: 1000, totalCollected: 1410 });
    expect(codes(third)).toEqual(["PAYMENT_IN_BALANCE"]);
    expect(await snapshot(loan)).toMatchObject({ totalCollected: 1410, excessAmount: 410, outstandingAfter: 1000 });
  });

  test("appears as two lines in the account statement: an adjustment and a payment", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    await balance(loan, 600, "2026-10-22T18:00:00Z");
    await pay(loan, 400, 21);
    const { id } = (await caseByLoan(service.app.database.em(), lenderId, loan))!;
    const [account] = await statementOf(service.app.database.em(), { lenderId, caseIds: [id] });
    expect(account?.lines[1]).toMatchObject({ kind: "adjustment", at: new Date("2026-10-22T18:00:00Z") });
    expect(account?.lines.slice(-2)).toMatchObject([
      {
        kind: "adjustment",
        memo: "Payment UTR9 was included in the balance of 22 Oct 18:00 UTC",
        debitMinor: 40_000n,
        balanceMinor: 100_000n,
      },
      { kind: "payment", reference: "UTR9", creditMinor: 40_000n, balanceMinor: 60_000n },
    ]);
  });

  test("is answered with its first booking when it is repeated, even if other balances were imported meanwhile", async () => {
    const loan = aLoan();
    await balance(loan, 1000, 20);
    const { httpStatus: _, ...lowers } = await pay(loan, 100, 21, "lowers");
    await balance(loan, 800, 22);
    const { httpStatus: __, ...included } = await pay(loan, 50, 21, "included");
    await balance(loan, 0, 23);
    await balance(loan, 5000, null);
    expect(await pay(loan, 100, 21, "lowers")).toMatchObject({ httpStatus: 409, matches: true, original: lowers });
    expect(await pay(loan, 50, 21, "included")).toMatchObject({ httpStatus: 409, matches: true, original: included });
    expect([lowers["inBalance"], included["inBalance"]]).toEqual([0, 50]);
  });
});
