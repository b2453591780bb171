import { newId, transaction } from "@collections/database";
import { currency } from "@collections/money";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  balance,
  collectionsLedger,
  correction,
  creditedAccount,
  excessAccount,
  fieldPartnerBalances,
  payout,
  pendingAccount,
  placedAccount,
  postTransfers,
  receivableAccount,
  receivableBalances,
  settledDirectAccount,
  statementOf,
  transfersOf,
} from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { INR, NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";

const database = await bookingsDatabase();

describe("an account statement", () => {
  test("lists placement, adjustments and payments, with the balance after each line", async () => {
    const sample = new SampleCase(newId())
      .place(500_000n)
      .pay(250_000n, { reference: "pay_1" })
      .adjust(-50_000n)
      .adjust(10_000n)
      .pay(300_000n, { reference: "pay_2" })
      .pay(500n, { reference: "pay_3" });
    await writeBooks(database, [sample]);
    const [statement] = await statementOf(database.em(), { lenderId: sample.lenderId, caseIds: [sample.caseId] });
    const lines = statement?.lines.map((line) => [
      line.sequence,
      line.kind,
      line.reference,
      line.debitMinor,
      line.creditMinor,
      line.balanceMinor,
      line.excessMinor,
    ]);
    expect(lines).toEqual([
      [1n, "placement", null, 500_000n, 0n, 500_000n, 0n],
      [2n, "payment", "pay_1", 0n, 250_000n, 250_000n, 0n],
      [3n, "adjustment", null, 0n, 50_000n, 200_000n, 0n],
      [4n, "adjustment", null, 10_000n, 0n, 210_000n, 0n],
      [5n, "payment", "pay_2", 0n, 210_000n, 0n, 90_000n],
      [6n, "payment", "pay_3", 0n, 0n, 0n, 500n],
    ]);
    expect(statement?.totals).toEqual({
      placedMinor: 500_000n,
      adjustedMinor: -40_000n,
      correctedMinor: 0n,
      collectedMinor: 460_000n,
      excessMinor: 90_500n,
      outstandingMinor: 0n,
    });
  });

  test("is returned for each given case of a loan, in the given order, even for a case without transfers", async () => {
    const lenderId = newId();
    const [first, second] = [
      new SampleCase(lenderId, "LN-1").place(100n),
      new SampleCase(lenderId, "LN-1").place(200n),
    ];
    await writeBooks(database, [first, second]);
    const empty = newId();
    const caseIds = [second.caseId, empty, first.caseId];
    const statements = await statementOf(database.em(), { lenderId, caseIds });
    expect(statements.map(({ caseId, totals }) => [caseId, totals.outstandingMinor])).toEqual([
      [second.caseId, 200n],
      [empty, 0n],
      [first.caseId, 100n],
    ]);
  });

  test("has no lines of another lender's case", async () => {
    const sample = new SampleCase(newId()).place(100n);
    await writeBooks(database, [sample]);
    const [statement] = await statementOf(database.em(), { lenderId: newId(), caseIds: [sample.caseId] });
    expect(statement?.lines).toEqual([]);
  });

  test("shows a correction on its own line, and keeps the corrected line", async () => {
    const sample = new SampleCase(newId()).place(1_000n).adjust(-400n);
    await writeBooks(database, [sample]);
    const [, wrong] = await transfersOf(database.em(), sample.lenderId, sample.caseId);
    const posting = correction(wrong!, { memo: "Adjusted on the wrong loan", sequence: 3n, now: NOW });
    await transaction(database.em(), async (tx) => postTransfers(tx, [posting]));
    const [statement] = await statementOf(database.em(), { lenderId: sample.lenderId, caseIds: [sample.caseId] });
    expect(statement?.lines.map(({ kind, balanceMinor }) => [kind, balanceMinor])).toEqual([
      ["placement", 1_000n],
      ["adjustment", 600n],
      ["correction", 1_000n],
    ]);
    expect(statement?.totals).toMatchObject({ collectedMinor: 0n, correctedMinor: 400n, outstandingMinor: 1_000n });
    expect(await collectionsLedger.verify(database.em(), { now: NOW, book: sample.lenderId })).toMatchObject({
      ok: true,
    });
  });
});

describe("balances", () => {
  test("are the sums of the transfers, for a case, a lender and a field partner", async () => {
    const sample = new SampleCase(newId()).place(1_000n).pay(300n, { earnedMinor: 8n }).pay(900n, { earnedMinor: 17n });
    const { lenderId, caseId, fieldPartnerId, bookings } = sample;
    const earning = { lenderId, caseId, bookingId: bookings[0]!.id, fieldPartnerId, currency: INR, amountMinor: 8n };
    await writeBooks(database, [sample]);
    await transaction(database.em(), async (tx) =>
      postTransfers(tx, payout(earning, { reference: "UTR1", paidAt: NOW, now: NOW })),
    );
    const of = async (account: string) => (await balance(database.em(), lenderId, account)).balanceMinor;
    expect(await of(receivableAccount(caseId))).toBe(0n);
    expect(await of(excessAccount(caseId))).toBe(-200n);
    expect(await of(placedAccount(lenderId, INR))).toBe(-1_000n);
    expect(await of(settledDirectAccount(lenderId, INR))).toBe(1_200n);
    expect(await of(pendingAccount(fieldPartnerId, INR))).toBe(-8n);
    expect(await of(creditedAccount(fieldPartnerId, INR))).toBe(-9n);
    expect(await of(pendingAccount(fieldPartnerId, currency("KWD")))).toBe(0n);
    expect(await fieldPartnerBalances(database.em(), lenderId)).toEqual([
      { fieldPartnerId, currency: INR, pendingMinor: 8n, creditedMinor: 9n, paidMinor: 8n },
    ]);
  });

  test("equal the running amounts of each case, for random placements, adjustments and payments", async () => {
    const amount = fc.bigInt({ min: 1n, max: 10n ** 13n });
    const act = fc.oneof(
      fc.record({ kind: fc.constant("pay" as const), amount, earned: fc.bigInt({ min: 0n, max: 10n ** 12n }) }),
      fc.record({ kind: fc.constant("adjust" as const), amount: fc.bigInt({ min: -(10n ** 13n), max: 10n ** 13n }) }),
    );
    const history = fc.record({
      placed: fc.bigInt({ min: 0n, max: 10n ** 13n }),
      acts: fc.array(act, { maxLength: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(history, { minLength: 1, maxLength: 6 }), async (histories) => {
        const lenderId = newId();
        const cases = histories.map(({ placed, acts }) => {
          const sample = new SampleCase(lenderId).place(placed);
          for (const act of acts) {
            if (act.kind === "pay") sample.pay(act.amount, { earnedMinor: act.earned });
            else sample.adjust(act.amount < -sample.outstandingMinor ? -sample.outstandingMinor : act.amount);
          }
          return sample;
        });
        await writeBooks(database, cases);

        const verification = await collectionsLedger.verify(database.em(), { now: NOW, book: lenderId });
        expect(verification.problems).toEqual([]);
        const balances = await receivableBalances(database.em(), lenderId, undefined, 100);
        const kept = cases
          .filter(({ outstandingMinor, collectedMinor }) => outstandingMinor > 0n || collectedMinor > 0n)
          .map(({ caseId, outstandingMinor, excessMinor, collectedMinor }) => {
            return { caseId, currency: INR, outstandingMinor, excessMinor, collectedMinor, reversedMinor: 0n };
          });
        expect(balances.filter((row) => row.outstandingMinor > 0n || row.collectedMinor > 0n)).toEqual(kept);
        const statements = await statementOf(database.em(), { lenderId, caseIds: cases.map(({ caseId }) => caseId) });
        expect(statements.map(({ totals }) => [totals.outstandingMinor, totals.excessMinor])).toEqual(
          cases.map(({ outstandingMinor, excessMinor }) => [outstandingMinor, excessMinor]),
        );
      }),
      { numRuns: 15 },
    );
  });
});
