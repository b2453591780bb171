import { array, assert, bigInt, property } from "fast-check";
import { expect, test } from "vitest";
import { applyPayment } from "./apply-payment.ts";
import { exampleCase } from "../../tests/example-case.ts";
import type { LockedCase } from "./locked-case.ts";

const NOW = new Date("2026-11-20T10:00:00Z");
const EARLIER = new Date("2026-11-19T10:00:00Z");

test("a partial payment lowers the outstanding amount and makes the case in progress", () => {
  const effect = applyPayment(exampleCase({ status: "assigned", sequence: 5n }), payment(200_000n), NOW);
  expect(effect).toMatchObject({ appliedMinor: 200_000n, excessMinor: 0n, cleared: false, newlyCollected: false });
  expect(effect.events).toEqual([{ kind: "payment.collected", sequence: 6n }]);
  expect(effect.caseAfter).toMatchObject({
    status: "in_progress",
    outstandingMinor: 300_000n,
    totalCollectedMinor: 200_000n,
    excessMinor: 0n,
    sequence: 6n,
    lastPaymentAt: NOW,
  });
});

test("the payment that clears the case closes it, and the part above the outstanding amount is excess", () => {
  const effect = applyPayment(exampleCase({ sequence: 5n }), payment(500_001n), NOW);
  expect(effect).toMatchObject({ appliedMinor: 500_000n, excessMinor: 1n, cleared: true, newlyCollected: true });
  expect(effect.events.map(({ kind }) => kind)).toEqual(["payment.collected", "case.closed"]);
  expect(effect.caseAfter).toMatchObject({
    status: "collected",
    outstandingMinor: 0n,
    totalCollectedMinor: 500_001n,
    excessMinor: 1n,
    sequence: 7n,
    closedAt: NOW,
    closeReason: "paid_in_full",
  });
});

test("a payment on a collected case counts entirely as excess and does not close the case again", () => {
  const { caseAfter: collected } = applyPayment(exampleCase(), payment(500_000n), EARLIER);
  const effect = applyPayment(collected, payment(100n), NOW);
  expect(effect).toMatchObject({ appliedMinor: 0n, excessMinor: 100n, cleared: true, newlyCollected: false });
  expect(effect.events.map(({ kind }) => kind)).toEqual(["payment.collected"]);
  expect(effect.caseAfter).toMatchObject({ status: "collected", closedAt: EARLIER, totalCollectedMinor: 500_100n });
});

test("a payment that the balance includes counts as collected and leaves the outstanding amount unchanged", () => {
  const asOf = exampleCase({ status: "assigned", outstandingAsOf: NOW });
  const effect = applyPayment(asOf, { amountMinor: 200_000n, paidAt: NOW }, NOW);
  expect(effect).toMatchObject({ appliedMinor: 200_000n, excessMinor: 0n, includedAsOf: NOW, cleared: false });
  expect(effect.caseAfter).toMatchObject({
    status: "in_progress",
    outstandingMinor: 500_000n,
    totalCollectedMinor: 200_000n,
    excessMinor: 0n,
    peakMinor: 500_000n,
  });
  const aMomentLater = new Date(NOW.getTime() + 1);
  const later = applyPayment(asOf, { amountMinor: 200_000n, paidAt: aMomentLater }, NOW);
  expect(later).toMatchObject({ includedAsOf: null, caseAfter: { outstandingMinor: 300_000n } });
});

test("payments that the balance includes are applied up to the peak, and the rest is excess", () => {
  const asOf = exampleCase({ outstandingAsOf: NOW, peakMinor: 500_000n });
  const first = applyPayment(asOf, { amountMinor: 400_000n, paidAt: EARLIER }, NOW);
  const second = applyPayment(first.caseAfter, { amountMinor: 400_000n, paidAt: EARLIER }, NOW);
  expect(second).toMatchObject({ appliedMinor: 100_000n, excessMinor: 300_000n, cleared: false });
  const third = applyPayment(second.caseAfter, { amountMinor: 1n, paidAt: EARLIER }, NOW);
  expect(third).toMatchObject({ appliedMinor: 0n, excessMinor: 1n, includedAsOf: NOW });
  expect(third.caseAfter).toMatchObject({ outstandingMinor: 500_000n, status: "in_progress" });
  const unknownPeak = applyPayment({ ...asOf, peakMinor: null }, { amountMinor: 600_000n, paidAt: EARLIER }, NOW);
  expect(unknownPeak).toMatchObject({ appliedMinor: 500_000n, caseAfter: { peakMinor: 500_000n } });
});

test("payments that the balance includes are applied up to the outstanding amount if that amount is above the stored peak", () => {
  // A process of an older version can leave a case in this state, because it raises outstandingMinor without peakMinor.
  const raised = exampleCase({ outstandingAsOf: NOW, outstandingMinor: 300_000n, peakMinor: 100_000n });
  const first = applyPayment(raised, { amountMinor: 250_000n, paidAt: EARLIER }, NOW);
  expect(first).toMatchObject({ appliedMinor: 250_000n, excessMinor: 0n, caseAfter: { peakMinor: 300_000n } });
  const second = applyPayment(first.caseAfter, { amountMinor: 250_000n, paidAt: EARLIER }, NOW);
  expect(second).toMatchObject({ appliedMinor: 50_000n, excessMinor: 200_000n });
});

test("a payment that was already included in the balance of 0 changes a settled case to collected and causes no excess", () => {
  const settled = exampleCase({
    status: "closed",
    outstandingMinor: 0n,
    outstandingAsOf: NOW,
    settledByLender: true,
    fieldWork: "blocked",
    blockedAt: EARLIER,
    closedAt: EARLIER,
    closeReason: "settled_by_lender",
  });
  const effect = applyPayment(settled, { amountMinor: 500_000n, paidAt: EARLIER }, NOW);
  expect(effect).toMatchObject({ appliedMinor: 500_000n, excessMinor: 0n, newlyCollected: true });
  expect(effect.events.map(({ kind }) => kind)).toEqual(["payment.collected", "case.closed"]);
});

test("the first payment on a settled case counts entirely as excess and changes the case to collected", () => {
  const settled = exampleCase({
    status: "closed",
    outstandingMinor: 0n,
    settledByLender: true,
    fieldWork: "blocked",
    blockedAt: EARLIER,
    closedAt: EARLIER,
    closeReason: "settled_by_lender",
  });
  const first = applyPayment(settled, payment(100n), NOW);
  expect(first).toMatchObject({ appliedMinor: 0n, excessMinor: 100n, newlyCollected: true });
  expect(first.events.map(({ kind }) => kind)).toEqual(["payment.collected", "case.closed"]);
  const second = applyPayment(first.caseAfter, payment(100n), NOW);
  expect(second.events.map(({ kind }) => kind)).toEqual(["payment.collected"]);
});

test("a payment that is confirmed late does not set lastPaymentAt to an earlier time", () => {
  const paid = exampleCase({ lastPaymentAt: NOW });
  expect(applyPayment(paid, { amountMinor: 1n, paidAt: EARLIER }, NOW).caseAfter.lastPaymentAt).toBe(NOW);
});

test("random payments in any order keep the sums consistent and close the case once", () => {
  const amounts = array(bigInt({ min: 1n, max: 400_000n }), { minLength: 1, maxLength: 30 });
  assert(
    property(bigInt({ min: 1n, max: 1_000_000n }), amounts, (placedMinor, paid) => {
      let theCase: LockedCase = exampleCase({ placedMinor, outstandingMinor: placedMinor, sequence: 0n });
      let applied = 0n;
      const kinds: string[] = [];
      for (const amountMinor of paid) {
        const effect = applyPayment(theCase, payment(amountMinor), NOW);
        expect(effect.appliedMinor + effect.excessMinor).toBe(amountMinor);
        expect(effect.appliedMinor).toBeGreaterThanOrEqual(0n);
        expect(effect.cleared).toBe(effect.caseAfter.outstandingMinor === 0n);
        applied += effect.appliedMinor;
        kinds.push(...effect.events.map(({ kind }) => kind));
        theCase = effect.caseAfter;
      }
      const total = paid.reduce((sum, amount) => sum + amount, 0n);
      expect(theCase.outstandingMinor).toBe(placedMinor - applied);
      expect(theCase.outstandingMinor).toBeGreaterThanOrEqual(0n);
      expect(theCase.totalCollectedMinor).toBe(total);
      expect(theCase.excessMinor).toBe(total - applied);
      expect(theCase.sequence).toBe(BigInt(kinds.length));
      expect(kinds.filter((kind) => kind === "case.closed")).toHaveLength(total >= placedMinor ? 1 : 0);
      expect(theCase.status).toBe(total >= placedMinor ? "collected" : "in_progress");
    }),
  );
});

function payment(amountMinor: bigint) {
  return { amountMinor, paidAt: NOW };
}
