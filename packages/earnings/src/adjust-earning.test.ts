import { newId } from "@collections/database";
import type { Percent } from "@collections/money";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { INR, LATER, NOW } from "../tests/fixture.ts";
import { adjustEarning, commissionOn, credited, type Earning, earningOn, formula } from "./index.ts";

/** 2.5 %. */
const COMMISSION = 25_000n as Percent;

const payment = {
  lenderId: newId(),
  caseId: newId(),
  bookingId: newId(),
  sourceLoanNumber: "LN-1",
  reference: "UTR1",
  fieldPartnerId: newId(),
  currency: INR,
  appliedMinor: 10_000n,
};
/** The pending commission of 250 on the payment of 10,000. */
const pending = earningOn(payment, COMMISSION, NOW)!;
const creditedLine = credited(pending, NOW);
const paidOut: Earning = { ...creditedLine, status: "paid_out", paidOutAt: NOW, payoutId: newId() };

const adjusted = (
  lines: readonly Earning[],
  appliedBeforeMinor: bigint,
  appliedMinor: bigint,
  caseHasEnded = false,
) => {
  const change = { reversalId: newId(), appliedBeforeMinor, caseHasEnded, commission: COMMISSION };
  return adjustEarning(lines, { ...payment, appliedMinor }, change, LATER);
};

describe("a full reversal", () => {
  test.each([
    ["pending", pending, { pendingChangeMinor: -250n, creditedChangeMinor: 0n }],
    ["credited", creditedLine, { pendingChangeMinor: 0n, creditedChangeMinor: -250n }],
  ])("of a %s earning makes it reversed, and adds no line", (_, line, changes) => {
    const { added, reversed, ...rest } = adjusted([line], 10_000n, 0n);
    expect([added, rest]).toEqual([undefined, changes]);
    expect(reversed).toMatchObject([
      { id: line.id, status: "reversed", reversedAt: LATER, creditedAt: line.creditedAt },
    ]);
  });

  test("of an earning that was paid out adds a credited line with a negative amount", () => {
    const { added, reversed, ...changes } = adjusted([paidOut], 10_000n, 0n);
    expect(changes).toEqual({ pendingChangeMinor: 0n, creditedChangeMinor: -250n });
    expect(reversed).toEqual([]);
    expect(added).toMatchObject({
      amountMinor: -250n,
      status: "credited",
      creditedAt: LATER,
      baseMinor: 0n,
      baseBeforeMinor: 10_000n,
    });
  });
});

describe("a partial reversal", () => {
  test("adds a line with the status of the earning and a formula that shows the old and the new amount", () => {
    const { added, reversed } = adjusted([pending], 10_000n, 6_000n);
    expect(added).toMatchObject({ amountMinor: -100n, status: "pending", creditedAt: null, reversedAt: null });
    expect(reversed).toEqual([]);
    expect(formula(added!, "en-IN")).toBe("2.5% of ₹60.00 instead of ₹100.00");
    expect(adjusted([creditedLine], 10_000n, 6_000n).added).toMatchObject({ amountMinor: -100n, status: "credited" });
  });

  test("that is followed by a reversal of the rest sets both lines to reversed", () => {
    const { added } = adjusted([pending], 10_000n, 6_000n);
    const rest = adjusted([pending, added!], 6_000n, 0n);
    expect(rest).toMatchObject({ added: undefined, pendingChangeMinor: -150n });
    expect(rest.reversed.map(({ id }) => id)).toEqual([pending.id, added!.id]);
  });

  test("whose commission rounds to 0 changes nothing", () => {
    expect(adjusted([pending], 10_000n, 9_990n)).toEqual({
      added: undefined,
      reversed: [],
      pendingChangeMinor: 0n,
      creditedChangeMinor: 0n,
    });
  });
});

describe("excess that is applied", () => {
  test("earns a pending line while the case is open, and a credited one after it has ended", () => {
    expect(adjusted([], 0n, 2_000n)).toMatchObject({
      added: { amountMinor: 50n, status: "pending" },
      pendingChangeMinor: 50n,
    });
    expect(adjusted([], 0n, 2_000n, true)).toMatchObject({ added: { amountMinor: 50n, status: "credited" } });
  });

  test("earns nothing without a field partner", () => {
    const change = { reversalId: newId(), appliedBeforeMinor: 0n, caseHasEnded: false, commission: COMMISSION };
    expect(adjustEarning([], { ...payment, fieldPartnerId: null }, change, LATER)).toMatchObject({ added: undefined });
  });
});

test("a partial reversal of a payment that earned nothing adds no earning, although the lender's commission was raised since", () => {
  expect(adjusted([], 10_000n, 6_000n)).toMatchObject({ added: undefined, reversed: [], pendingChangeMinor: 0n });
});

test("after any changes, ends and payouts, the lines add up to the commission, and the sum of the pending lines is never below 0", () => {
  const act = fc.record({ applied: fc.bigInt({ min: 0n, max: 10_000n }), ends: fc.boolean(), isPaid: fc.boolean() });
  const property = fc.property(fc.array(act, { maxLength: 12 }), (acts) => {
    let lines: Earning[] = [pending];
    let appliedBefore = 10_000n;
    for (const { applied, ends, isPaid } of acts) {
      if (ends) lines = lines.map((line) => credited(line, NOW));
      if (isPaid) lines = lines.map((line) => (line.status === "credited" ? { ...line, status: "paid_out" } : line));
      const before = lines;
      const sumOf = (status: Earning["status"], of: readonly Earning[]) =>
        of.reduce((sum, line) => (line.status === status ? sum + line.amountMinor : sum), 0n);
      const { added, reversed, pendingChangeMinor, creditedChangeMinor } = adjusted(
        lines,
        appliedBefore,
        applied,
        ends,
      );
      const ended = new Map(reversed.map((line) => [line.id, line]));
      lines = [...lines.map((line) => ended.get(line.id) ?? line), ...(added ? [added] : [])];
      const counted = lines.reduce((sum, line) => (line.status === "reversed" ? sum : sum + line.amountMinor), 0n);
      expect(counted).toBe(commissionOn(applied, COMMISSION));
      expect(sumOf("pending", lines) - sumOf("pending", before)).toBe(pendingChangeMinor);
      expect(sumOf("credited", lines) - sumOf("credited", before)).toBe(creditedChangeMinor);
      expect(sumOf("pending", lines)).toBeGreaterThanOrEqual(0n);
      expect(lines.every(({ amountMinor }) => amountMinor !== 0n)).toBe(true);
      appliedBefore = applied;
    }
  });
  fc.assert(property, { numRuns: 500 });
});

describe("the percentage of an adjusted earning", () => {
  const change = { reversalId: newId(), appliedBeforeMinor: 10_000n, caseHasEnded: false, commission: COMMISSION };
  const rise = (lines: readonly Earning[], commissionPercent: bigint | null) =>
    adjustEarning(
      lines,
      { ...payment, appliedMinor: 20_000n, commissionPercent: commissionPercent as Percent | null },
      change,
      LATER,
    ).added;

  test.each<[string, readonly Earning[], bigint | null, bigint | undefined]>([
    ["is the booking's, even if a line has another", [{ ...pending, percent: 990_000n as Percent }], 25_000n, 250n],
    ["is 0 if the booking's is 0", [], 0n, undefined],
    ["is the line's if the booking has none", [{ ...pending, percent: 50_000n as Percent }], null, 750n],
    ["is the lender's if there is no line either", [], null, 500n],
  ])("%s", (_, lines, commissionPercent, amountMinor) => {
    expect(rise(lines, commissionPercent)?.amountMinor).toBe(amountMinor);
  });
});
