import type { OutstandingOfAge } from "@collections/cases";
import type { Lender } from "@collections/lenders";
import { currency } from "@collections/money";
import { expect, test } from "vitest";
import { shownOutstanding } from "./outstanding.ts";

const LENDER = { timeZone: "Asia/Kolkata" } as Lender;
const AT = new Date("2026-11-20T05:11:07Z");
const [INR, JPY] = [currency("INR"), currency("JPY")];

function sum(age: OutstandingOfAge["age"], outstandingMinor: bigint, of = INR): OutstandingOfAge {
  return { age, currency: of, cases: 1, unassigned: 0, outstandingMinor };
}

test("amounts beyond the safe integers are exact", () => {
  const sums = [sum("0", 9_007_199_254_740_993n), sum("90+", 9_007_199_254_740_993n)];
  expect(shownOutstanding(LENDER, { at: AT, sums })).toEqual({
    at: "10:41",
    currencies: [
      {
        currency: "INR",
        cases: 2,
        amount: "180143985094819.86",
        ages: [
          { age: "0", cases: 1, amount: "90071992547409.93", percent: 50, size: 1 },
          { age: "90+", cases: 1, amount: "90071992547409.93", percent: 50, size: 1 },
        ],
      },
    ],
  });
});

test("currencies have sums and scales of their own", () => {
  const sums = [sum("0", 100n), sum("1-30", 300n), sum("0", 7n, JPY)];
  const { currencies } = shownOutstanding(LENDER, { at: AT, sums });
  expect(currencies.map(({ amount }) => amount)).toEqual(["4.00", "7"]);
  expect(currencies.map(({ ages }) => ages.map(({ percent, size }) => [percent, size]))).toEqual([
    [
      [25, 0.3333],
      [75, 1],
    ],
    [[100, 1]],
  ]);
});

test("cases that owe nothing have no bar", () => {
  const { currencies } = shownOutstanding(LENDER, { at: AT, sums: [sum(null, 0n)] });
  expect(currencies[0]!.ages).toEqual([{ age: null, cases: 1, amount: "0.00", percent: 0, size: 0 }]);
});
