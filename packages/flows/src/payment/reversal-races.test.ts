import { newId } from "@collections/database";
import type { FieldPartner } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";
import { AmountLiteral } from "@collections/money";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cuttableWire } from "../../tests/cuttable-wire.ts";
import {
  aCase,
  aConfirmation,
  aFieldPartner,
  aLender,
  BORROWER,
  currentCase,
  ENVIRONMENT,
  flowsDatabaseUrl,
  importRow,
  openDatabase,
} from "../../tests/fixture.ts";
import { aReversal } from "../../tests/reversals.ts";
import { payoutPreview, recordPayout } from "../books/record-payout.ts";
import { verifyBooks } from "../books/verify-books.ts";
import { assignCase } from "../case/change-case.ts";
import { confirmPayments } from "./confirm-payments.ts";
import { reversePayment } from "./reverse-payment.ts";

const url = await flowsDatabaseUrl();
const database = await openDatabase(url);
const REPEATS = 8;

let lender: Lender;
let fieldPartner: FieldPartner;

beforeAll(async () => {
  ({ lender } = await aLender(database, { commissionPercent: "2.5" }));
  fieldPartner = await aFieldPartner(database);
});

/** Creates a case of 100 on which A has paid 100, so that it is collected. Returns its loan. */
async function aCollectedLoan(partner = fieldPartner): Promise<string> {
  const { sourceLoanNumber: loan } = await aCase(database, lender, {
    fieldPartner: partner,
    row: { outstandingAmount: 100 },
  });
  await pay(loan, "A", 100);
  return loan;
}

async function pay(loan: string, reference: string, amount: number): Promise<void> {
  const given = { reference, amount: new AmountLiteral(String(amount)), amountIsMajorUnits: true };
  await confirmPayments(database.em(), [aConfirmation(lender, { sourceLoanNumber: loan }, given)], ENVIRONMENT);
}

const reverse = (loan: string) => reversePayment(database.em(), aReversal(lender, loan, "A"), ENVIRONMENT);

async function expectBooksToHold(): Promise<void> {
  expect((await verifyBooks(database.em(), { lenderId: lender.id, now: new Date() })).problems).toEqual([]);
}

test("a reversal and a concurrent confirmation are both counted: in either order, 40 is outstanding", async () => {
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const loan = await aCollectedLoan();
    await Promise.all([reverse(loan), pay(loan, "B", 60)]);
    expect(await currentCase(database, lender, loan)).toMatchObject({
      status: "in_progress",
      outstandingMinor: 4_000n,
      totalCollectedMinor: 6_000n,
      excessMinor: 0n,
    });
  }
  await expectBooksToHold();
});

test("a reversal during an import of an older balance is added to the balance, whichever commits first", async () => {
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const { sourceLoanNumber: loan } = await aCase(database, lender, { fieldPartner, row: { outstandingAmount: 100 } });
    await pay(loan, "A", 60);
    const outstandingAsOf = new Date().toISOString();
    const row = { sourceLoanNumber: loan, ...BORROWER, outstandingAmount: 45, outstandingAsOf };
    await Promise.all([
      reversePayment(
        database.em(),
        aReversal(lender, loan, "A", { reversedAt: new Date(Date.now() + 1_000) }),
        ENVIRONMENT,
      ),
      importRow(database, lender, row),
    ]);
    expect(await currentCase(database, lender, loan)).toMatchObject({
      status: "in_progress",
      outstandingMinor: 10_500n,
    });
  }
  await expectBooksToHold();
});

test("a reversal during an assignment reopens the case, and the assignment takes effect or is refused", async () => {
  const second = await aFieldPartner(database);
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const loan = await aCollectedLoan();
    const order = { lender, loan, reason: null, fieldPartnerId: second.id };
    const [, { kind }] = await Promise.all([reverse(loan), assignCase(database.em(), order, ENVIRONMENT)]);
    expect(await currentCase(database, lender, loan)).toMatchObject({
      status: "in_progress",
      assignedFieldPartnerId: kind === "done" ? second.id : fieldPartner.id,
    });
  }
  await expectBooksToHold();
});

test("if a payment is reversed during a payout, its earning is either not paid out or deducted from the next payout", async () => {
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const partner = await aFieldPartner(database);
    const loan = await aCollectedLoan(partner);
    const order = {
      fieldPartnerId: partner.id,
      currency: lender.currency,
      amountMinor: 250n,
      reference: newId(),
      paidOn: new Date().toISOString().slice(0, 10),
      until: null,
    };
    const [, { kind }] = await Promise.all([reverse(loan), recordPayout(database.em(), order)]);
    const preview = await payoutPreview(database.em(), partner.id, null);
    expect(preview?.carried.map(({ amountMinor }) => amountMinor)).toEqual(kind === "recorded" ? [-250n] : []);
    expect(preview?.credited).toEqual([]);
  }
  await expectBooksToHold();
});

test("a process that dies at any statement has recorded the whole reversal or nothing, and a repeat completes it", async () => {
  let sent = 0;
  for (let dieAt = 1; ; dieAt += 1) {
    const loan = await aCollectedLoan();
    await pay(loan, "B", 30);
    const wire = await cuttableWire(new URL(url));
    afterAll(() => wire.close());
    sent = 0;
    const dying = await openDatabase(wire.url, {
      onStatement() {
        sent += 1;
        if (sent === dieAt) wire.cut();
      },
    });
    const request = aReversal(lender, loan, "A");
    await reversePayment(dying.em(), request, ENVIRONMENT).catch(() => undefined);
    const { totalReversedMinor, outstandingMinor } = await currentCase(database, lender, loan);
    expect([
      [0n, 0n],
      [10_000n, 7_000n],
    ]).toContainEqual([totalReversedMinor, outstandingMinor]);
    const { kind } = await reversePayment(database.em(), request, ENVIRONMENT);
    expect(kind).toBe(totalReversedMinor === 0n ? "reversed" : "duplicate");
    expect(await currentCase(database, lender, loan)).toMatchObject({
      outstandingMinor: 7_000n,
      status: "in_progress",
    });
    if (sent < dieAt) break;
  }
  expect(sent).toBeGreaterThan(15);
  await expectBooksToHold();
});
