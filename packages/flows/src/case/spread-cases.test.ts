import { currency } from "@collections/money";
import { describe, expect, test } from "vitest";
import { type CaseToSpread, type SpreadCase, spreadCases } from "./spread-cases.ts";

const INR = currency("INR");
const PEOPLE = ["asha", "ravi", "sita"];

function aCase(number: number, fields: Partial<CaseToSpread> = {}): CaseToSpread {
  const loan = `LN-${String(number).padStart(4, "0")}`;
  return {
    loan,
    outstandingMinor: BigInt((number * 7_919) % 10_007) * 100n,
    currency: INR,
    postalCode: null,
    ...fields,
  };
}

function sharesOf(spread: readonly SpreadCase[], cases: readonly CaseToSpread[]) {
  const amounts = new Map(cases.map(({ loan, outstandingMinor }) => [loan, outstandingMinor]));
  return PEOPLE.map((person) => {
    const own = spread.filter(({ fieldPartnerId }) => fieldPartnerId === person);
    return { count: own.length, sum: own.reduce((sum, { loan }) => sum + amounts.get(loan)!, 0n) };
  });
}

function spanOf(values: readonly (number | bigint)[]): number {
  const numbers = values.map(Number);
  return Math.max(...numbers) - Math.min(...numbers);
}

describe.each(["amount", "postal-code"] as const)("spreadCases by %s", (rule) => {
  const cases = Array.from({ length: 100 }, (_, number) => aCase(number, { postalCode: `41100${number % 7}` }));

  test("gives every case to exactly one person, whatever the order of the cases", () => {
    const spread = spreadCases(cases, PEOPLE, rule);
    expect(spread.map(({ loan }) => loan).toSorted()).toEqual(cases.map(({ loan }) => loan));
    expect(spreadCases(cases.toReversed(), PEOPLE, rule)).toEqual(spread);
    expect(spreadCases([], PEOPLE, rule)).toEqual([]);
    expect(new Set(spreadCases(cases, ["asha"], rule).map(({ fieldPartnerId }) => fieldPartnerId))).toEqual(
      new Set(["asha"]),
    );
  });
});

test.each([1, 2, 3, 4, 99, 100, 1_000])("by amount, %d cases differ by one in number, and little in sum", (count) => {
  const cases = Array.from({ length: count }, (_, number) => aCase(number));
  const shares = sharesOf(spreadCases(cases, PEOPLE, "amount"), cases);
  const largest = Math.max(...cases.map(({ outstandingMinor }) => Number(outstandingMinor)));
  expect(spanOf(shares.map(({ count: own }) => own))).toBeLessThanOrEqual(1);
  expect(spanOf(shares.map(({ sum }) => sum))).toBeLessThanOrEqual(largest);
});

test("by amount, the numbers differ by one also if the cases have two currencies", () => {
  const cases = Array.from({ length: 50 }, (_, number) =>
    aCase(number, { currency: currency(number % 5 === 0 ? "USD" : "INR") }),
  );
  const shares = sharesOf(spreadCases(cases, PEOPLE, "amount"), cases);
  expect(spanOf(shares.map(({ count }) => count))).toBeLessThanOrEqual(1);
});

test("by postal code, a postal code goes to one person however it is written, and the numbers are about equal", () => {
  const codes = ["411 045", "411045", "411001", "411002", "411003", "411003", "411003"];
  const cases = codes.map((postalCode, number) => aCase(number, { postalCode }));
  const spread = spreadCases(cases, PEOPLE, "postal-code");
  const personOf = new Map(spread.map(({ loan, fieldPartnerId }) => [loan, fieldPartnerId]));
  expect(personOf.get("LN-0000")).toBe(personOf.get("LN-0001"));
  expect(new Set(["LN-0004", "LN-0005", "LN-0006"].map((loan) => personOf.get(loan))).size).toBe(1);
  expect(
    sharesOf(spread, cases)
      .map(({ count }) => count)
      .toSorted((a, b) => a - b),
  ).toEqual([2, 2, 3]);
});

test("an interrupted spread by postal code divides no postal code", () => {
  const cases = Array.from({ length: 100 }, (_, number) => aCase(number, { postalCode: `41100${number % 7}` }));
  const codes = new Map(cases.map(({ loan, postalCode }) => [loan, postalCode]));
  const planned = spreadCases(cases, PEOPLE, "postal-code");
  for (const done of [1, 10, 40, 50, 99]) {
    const first = planned.slice(0, done);
    const had = first.map(({ loan, fieldPartnerId }) => ({ fieldPartnerId, postalCode: codes.get(loan)! }));
    const rest = cases.filter(({ loan }) => !first.some((one) => one.loan === loan));
    const all = [...first, ...spreadCases(rest, PEOPLE, "postal-code", had)];
    const people = Map.groupBy(all, ({ loan }) => codes.get(loan));
    for (const ofCode of people.values()) {
      expect(new Set(ofCode.map(({ fieldPartnerId }) => fieldPartnerId)).size).toBe(1);
    }
  }
});

test("by postal code, cases of other people do not count", () => {
  const had = [{ fieldPartnerId: "nobody", postalCode: "411001" }];
  const [one] = spreadCases([aCase(1, { postalCode: "411001" })], PEOPLE, "postal-code", had);
  expect(one?.fieldPartnerId).toBe("asha");
});

test("by postal code, cases without a postal code are spread one by one", () => {
  const cases = Array.from({ length: 9 }, (_, number) => aCase(number));
  const shares = sharesOf(spreadCases(cases, PEOPLE, "postal-code"), cases);
  expect(shares.map(({ count }) => count)).toEqual([3, 3, 3]);
});
