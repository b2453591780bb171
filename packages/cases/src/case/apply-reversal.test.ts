import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exampleCase } from "../../tests/example-case.ts";
import { applyPayment } from "./apply-payment.ts";
import { applyEarlierReversal, applyReversal, type ReturnedMoney, type ReversedCase } from "./apply-reversal.ts";
import type { LockedCase } from "./locked-case.ts";

const NOW = new Date("2026-11-20T10:00:00Z");
const EARLIER = new Date("2026-11-19T10:00:00Z");

/** A case of 100 on which these amounts were paid, one after the other. */
function paidCase(amounts: readonly bigint[], given: Partial<LockedCase> = {}): ReversedCase {
  let paid: LockedCase = exampleCase({
    outstandingMinor: 100n,
    placedMinor: 100n,
    assignedFieldPartnerId: "fp",
    ...given,
  });
  for (const amountMinor of amounts) paid = applyPayment(paid, { amountMinor, paidAt: EARLIER }, EARLIER).caseAfter;
  return { ...paid, totalReversedMinor: 0n };
}

/** Returns money that was returned on a loan with this signed difference. Default: nothing is owed. */
function returned(
  amountMinor: bigint,
  { beforeMinor = 0n, ...given }: Partial<ReturnedMoney> & { readonly beforeMinor?: bigint } = {},
): ReturnedMoney {
  const payment = { appliedMinor: amountMinor, excessMinor: 0n };
  const difference = { beforeMinor, afterMinor: beforeMinor + amountMinor };
  return { amountMinor, payment, difference, held: [], keepsHolder: true, ...given };
}

describe("a reversal", () => {
  test("of the first of two payments of 80 on 100 applies the second payment's excess of 60 and leaves 20 outstanding", () => {
    const held = [{ bookingId: "B", excessMinor: 60n }];
    const effect = applyReversal(paidCase([80n, 80n]), returned(80n, { held, beforeMinor: -60n }), NOW);
    expect(effect).toMatchObject({
      appliedMinor: 80n,
      excessMinor: 0n,
      adjustmentMinor: 0n,
      reapplied: [{ bookingId: "B", amountMinor: 60n }],
      reopened: true,
    });
    expect(effect.caseAfter).toMatchObject({
      outstandingMinor: 20n,
      excessMinor: 0n,
      totalCollectedMinor: 80n,
      totalReversedMinor: 80n,
    });
  });

  test("takes the payment's own excess first", () => {
    const payment = { appliedMinor: 100n, excessMinor: 30n };
    const effect = applyReversal(paidCase([130n]), returned(40n, { payment, beforeMinor: -30n }), NOW);
    expect(effect).toMatchObject({ excessMinor: 30n, appliedMinor: 10n });
    expect(effect.caseAfter).toMatchObject({ outstandingMinor: 10n, excessMinor: 0n, totalCollectedMinor: 90n });
  });

  test("applies the excess of other payments in their order, up to the amount that is owed again", () => {
    const held = [
      { bookingId: "B", excessMinor: 5n },
      { bookingId: "C", excessMinor: 20n },
    ];
    const effect = applyReversal(paidCase([100n, 5n, 20n]), returned(15n, { held, beforeMinor: -25n }), NOW);
    expect(effect.reapplied).toEqual([
      { bookingId: "B", amountMinor: 5n },
      { bookingId: "C", amountMinor: 10n },
    ]);
    expect(effect).toMatchObject({
      reopened: false,
      caseAfter: { status: "collected", outstandingMinor: 0n, excessMinor: 10n },
    });
  });

  test("leaves other payments' excess where a balance of 0 left it", () => {
    // 100 owed, A pays 80, B pays 80, then a balance of 0 that includes both, and A bounces.
    const effect = applyReversal(paidCase([80n, 80n]), returned(80n), NOW);
    expect(effect).toMatchObject({ reapplied: [], adjustmentMinor: 0n, caseAfter: { outstandingMinor: 80n } });
    expect(effect.caseAfter.excessMinor).toBe(60n);
  });

  test("uses up a surplus without excess by an adjustment", () => {
    const effect = applyReversal(paidCase([100n]), returned(60n, { beforeMinor: -45n }), NOW);
    expect(effect).toMatchObject({ appliedMinor: 60n, adjustmentMinor: -45n, caseAfter: { outstandingMinor: 15n } });
  });

  test("changes neither the outstanding amount nor other payments if the balance already includes it", () => {
    const held = [{ bookingId: "B", excessMinor: 10n }];
    const before = { ...paidCase([60n]), excessMinor: 10n, totalCollectedMinor: 70n, outstandingAsOf: NOW };
    const difference = { beforeMinor: 40n, afterMinor: 40n };
    const effect = applyReversal(before, returned(60n, { held, difference }), NOW);
    expect(effect).toMatchObject({ inBalance: true, appliedMinor: 60n, adjustmentMinor: -60n, reapplied: [] });
    expect(effect.caseAfter).toMatchObject({ outstandingMinor: 40n, totalCollectedMinor: 10n, excessMinor: 10n });
  });

  test("adds the payment's excess to the outstanding amount by an adjustment if a balance included the excess", () => {
    const payment = { appliedMinor: 30n, excessMinor: 20n };
    const paid = { ...paidCase([30n]), excessMinor: 20n, totalCollectedMinor: 50n };
    const effect = applyReversal(paid, returned(50n, { payment, beforeMinor: 70n }), NOW);
    expect(effect).toMatchObject({ appliedMinor: 30n, excessMinor: 20n, adjustmentMinor: 20n });
    expect(effect.caseAfter).toMatchObject({ outstandingMinor: 120n, excessMinor: 0n, totalCollectedMinor: 0n });
  });
});

describe("the reversal of a payment of an earlier cycle", () => {
  const earlier = { ...paidCase([130n]), isCurrent: false };

  test("is owed on the current case, and the earlier case keeps its outstanding amount", () => {
    const current = { ...paidCase([100n]), cycle: 2, totalReversedMinor: 0n };
    const payment = { appliedMinor: 100n, excessMinor: 30n };
    const effect = applyEarlierReversal(earlier, current, returned(130n, { payment }), NOW);
    expect(effect).toMatchObject({ appliedMinor: 100n, excessMinor: 30n, adjustmentMinor: -100n, reopened: true });
    expect(effect.currentAdjustmentMinor).toBe(130n);
    expect(effect.earlierAfter).toMatchObject({ outstandingMinor: 0n, excessMinor: 0n, totalReversedMinor: 130n });
    expect(effect.caseAfter).toMatchObject({ status: "in_progress", outstandingMinor: 130n, totalReversedMinor: 0n });
    expect(effect.events.map(({ kind }) => kind)).toEqual(["payment.reversed", "case.reopened"]);
  });

  test("applies excess of the current case as far as the surplus reaches", () => {
    const current = { ...paidCase([150n]), cycle: 2, totalReversedMinor: 0n };
    const held = [{ bookingId: "C", excessMinor: 50n }];
    const effect = applyEarlierReversal(earlier, current, returned(80n, { held, beforeMinor: -50n }), NOW);
    expect(effect).toMatchObject({ reapplied: [{ bookingId: "C", amountMinor: 50n }], currentAdjustmentMinor: 80n });
    expect(effect.caseAfter).toMatchObject({ outstandingMinor: 30n, excessMinor: 0n });
  });
});

describe("a case after a reversal", () => {
  test("is in progress in the same cycle if it was collected and an amount is owed again", () => {
    const collected = paidCase([100n], { sequence: 5n });
    const { caseAfter, events, reopened } = applyReversal(collected, returned(40n), NOW);
    expect(reopened).toBe(true);
    expect(events).toEqual([
      { kind: "payment.reversed", sequence: 8n },
      { kind: "case.reopened", sequence: 9n },
    ]);
    expect(caseAfter).toMatchObject({
      status: "in_progress",
      cycle: collected.cycle,
      closedAt: null,
      closeReason: null,
      statusReason: null,
      fieldWork: "open",
      blockedAt: null,
      assignedFieldPartnerId: "fp",
      sequence: 9n,
    });
    const again = applyPayment(caseAfter, { amountMinor: 40n, paidAt: NOW }, NOW);
    expect(again).toMatchObject({
      newlyCollected: true,
      caseAfter: { status: "collected", closeReason: "paid_in_full" },
    });
  });

  test("has no field partner if it was reopened and its field partner is suspended", () => {
    const { caseAfter } = applyReversal(paidCase([100n]), returned(40n, { keepsHolder: false }), NOW);
    expect(caseAfter).toMatchObject({ status: "in_progress", assignedFieldPartnerId: null, assignedSince: null });
  });

  test.each<[string, Partial<ReversedCase>]>([
    ["in progress", {}],
    ["on hold", { status: "on_hold", statusBeforeHold: "in_progress", fieldWork: "blocked", blockedAt: EARLIER }],
    [
      "closed",
      {
        status: "closed",
        closedAt: EARLIER,
        closeReason: "settled_by_lender",
        fieldWork: "blocked",
        blockedAt: EARLIER,
      },
    ],
    [
      "withdrawn",
      { status: "withdrawn", closedAt: EARLIER, closeReason: "withdrawn", fieldWork: "blocked", blockedAt: EARLIER },
    ],
    [
      "withdrawn and then paid in part",
      { status: "in_progress", closedAt: EARLIER, closeReason: "withdrawn", fieldWork: "blocked", blockedAt: EARLIER },
    ],
    [
      "collected, and of an earlier cycle",
      {
        status: "collected",
        outstandingMinor: 0n,
        isCurrent: false,
        closedAt: EARLIER,
        closeReason: "paid_in_full",
        fieldWork: "blocked",
        blockedAt: EARLIER,
      },
    ],
  ])("keeps its state if it was %s, and only payment.reversed is emitted", (_, given) => {
    const before = { ...paidCase([60n]), ...given };
    const beforeMinor = before.outstandingMinor;
    const { caseAfter, events, reopened } = applyReversal(before, returned(60n, { beforeMinor }), NOW);
    expect([reopened, events.map(({ kind }) => kind)]).toEqual([false, ["payment.reversed"]]);
    const { status, closedAt, closeReason, fieldWork, blockedAt, statusBeforeHold, assignedFieldPartnerId } = before;
    expect(caseAfter).toMatchObject({
      status,
      closedAt,
      closeReason,
      fieldWork,
      blockedAt,
      statusBeforeHold,
      assignedFieldPartnerId,
    });
    expect(caseAfter.outstandingMinor).toBe(before.outstandingMinor + 60n);
  });
});

test.each([0n, -1n, 101n])(
  "applyReversal throws an error for a reversal of %s if 100 of the payment are not reversed yet",
  (amountMinor) => {
    const payment = { appliedMinor: 100n, excessMinor: 0n };
    expect(() => applyReversal(paidCase([100n]), returned(amountMinor, { payment }), NOW)).toThrow(/amount|left/);
  },
);

test("after any payments and reversals, the outstanding amount is max(0, balance - payments + reversals), and the payments add up to the totals of the case", () => {
  const act = fc.record({ amount: fc.bigInt({ min: 1n, max: 120n }), of: fc.nat(), isPayment: fc.boolean() });
  const property = fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
    let theCase: ReversedCase = paidCase([]);
    const payments: { appliedMinor: bigint; excessMinor: bigint }[] = [];
    let netMinor = 100n;
    for (const { amount, of, isPayment } of acts) {
      if (isPayment || payments.length === 0) {
        const effect = applyPayment(theCase, { amountMinor: amount, paidAt: NOW }, NOW);
        theCase = { ...effect.caseAfter, totalReversedMinor: theCase.totalReversedMinor };
        payments.push({ appliedMinor: effect.appliedMinor, excessMinor: effect.excessMinor });
        netMinor -= amount;
      } else {
        const index = of % payments.length;
        const payment = payments[index]!;
        const leftMinor = payment.appliedMinor + payment.excessMinor;
        if (leftMinor === 0n) continue;
        const amountMinor = amount < leftMinor ? amount : leftMinor;
        const held = payments.flatMap(({ excessMinor }, at) =>
          at === index ? [] : { bookingId: String(at), excessMinor },
        );
        const effect = applyReversal(theCase, returned(amountMinor, { payment, held, beforeMinor: netMinor }), NOW);
        theCase = effect.caseAfter;
        payment.appliedMinor -= effect.appliedMinor;
        payment.excessMinor -= effect.excessMinor;
        for (const { bookingId, amountMinor: reappliedMinor } of effect.reapplied) {
          payments[Number(bookingId)]!.appliedMinor += reappliedMinor;
          payments[Number(bookingId)]!.excessMinor -= reappliedMinor;
        }
        netMinor += amountMinor;
      }
      const sum = (part: "appliedMinor" | "excessMinor") => payments.reduce((total, one) => total + one[part], 0n);
      expect(theCase.outstandingMinor).toBe(netMinor > 0n ? netMinor : 0n);
      expect(theCase.excessMinor).toBe(sum("excessMinor"));
      expect(theCase.totalCollectedMinor).toBe(sum("appliedMinor") + sum("excessMinor"));
      expect(theCase.outstandingMinor + sum("appliedMinor")).toBe(100n);
      expect(theCase.status === "collected").toBe(theCase.outstandingMinor === 0n);
      expect((theCase.closedAt === null) === (theCase.status !== "collected")).toBe(true);
    }
  });
  fc.assert(property, { numRuns: 500 });
});
