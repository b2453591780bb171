import { describe, expect, test } from "vitest";
import { applyPayment } from "../case/apply-payment.ts";
import type { ImportedCase } from "../case/locked-case.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { applied, EARLIER, later, NOW, paid, planOf } from "../../tests/plan-example.ts";

/** A case of 5,000 after a payment. */
function paidCase(amountMinor: bigint, fields: Partial<ImportedCase> = {}): ImportedCase {
  const before = exampleCase({ outstandingMinor: 500_000n, placedMinor: 500_000n, ...fields });
  return { ...before, ...applyPayment(before, { amountMinor, paidAt: EARLIER }, NOW).caseAfter };
}

function codesOf({ warnings }: { readonly warnings: readonly { readonly code: string }[] }): string[] {
  return warnings.map(({ code }) => code);
}

describe("a balance without an outstandingAsOf", () => {
  test("warns if it raises what a payment had lowered", () => {
    expect(applied({ outstandingAmount: "5000" }, paidCase(200_000n)).warnings).toEqual([
      {
        code: "BALANCE_WITHOUT_AS_OF",
        pointer: "/rows/0/outstandingAsOf",
        detail:
          "The balance raised the outstanding amount from 3000.00 to 5000.00 INR, as if it included the payments of this " +
          "case. Send the moment up to which it includes payments.",
      },
    ]);
  });

  test("warns if its outstandingAsOf is null", () => {
    const row = { outstandingAmount: "5000", outstandingAsOf: null };
    expect(codesOf(applied(row, paidCase(200_000n)))).toEqual(["BALANCE_WITHOUT_AS_OF"]);
  });

  test("warns if it opens a paid loan again", () => {
    const plan = applied({ outstandingAmount: "5000" }, paidCase(500_000n));
    expect([plan.outcome, codesOf(plan)]).toEqual(["reopened", ["BALANCE_WITHOUT_AS_OF"]]);
  });

  test.each([
    ["lowers the amount further", "2000", paidCase(200_000n)],
    ["raises a case without payments", "6000", exampleCase({ outstandingMinor: 500_000n })],
    ["raises a balance that included the payment", "6000", paidCase(200_000n, { outstandingAsOf: EARLIER })],
  ])("does not warn if it %s", (...given) => {
    const [, outstandingAmount, current] = given;
    expect(codesOf(applied({ outstandingAmount }, current))).toEqual([]);
  });

  test("does not warn if it repeats the amount", () => {
    expect(planOf({ outstandingAmount: "3000" }, paidCase(200_000n))).toMatchObject({
      outcome: "unchanged",
      warnings: [],
    });
  });
});

test("a balance with an outstandingAsOf does not warn about payments that it includes", () => {
  const row = { outstandingAmount: "5000", outstandingAsOf: NOW.toISOString() };
  expect(codesOf(applied(row, paidCase(200_000n)))).toEqual([]);
  const earlier = { outstandingAmount: "6000", outstandingAsOf: new Date(EARLIER.getTime() - 1).toISOString() };
  const more = later([paid(200_000n, "UTR1", EARLIER)]);
  expect(codesOf(applied(earlier, paidCase(200_000n), more))).toEqual(["PAYMENT_AFTER_SNAPSHOT"]);
});
