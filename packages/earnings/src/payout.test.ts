import { newId } from "@collections/database";
import { expect, test } from "vitest";
import { anEarning, NOW } from "../tests/fixture.ts";
import { credited, creditTimeReaching, type Earning } from "./index.ts";

/** Returns an earning that was credited `seconds` after NOW. */
function due(seconds: number, amountMinor: bigint, fields: Partial<Earning> = {}): Earning {
  return credited(anEarning({ ...fields, amountMinor }), at(seconds));
}

function at(seconds: number): Date {
  return new Date(NOW.getTime() + seconds * 1_000);
}

// The earnings are in another order than their credit times.
const lines = [due(3, 9n), due(1, 2n), due(2, 3n), due(2, 4n), due(1, 1n)];

test.each([
  [3n, at(1)],
  [10n, at(2)],
  [19n, at(3)],
])("creditTimeReaching finds the credit time at which the earnings add up to %d", (amountMinor, time) => {
  expect(creditTimeReaching(lines, amountMinor)).toEqual(time);
});

test.each([0n, 2n, 6n, 11n, 20n])(
  "creditTimeReaching finds no credit time for %d, which the earnings never add up to",
  (amountMinor) => {
    expect(creditTimeReaching(lines, amountMinor)).toBeUndefined();
  },
);

test("creditTimeReaching counts a deduction from its own time on", () => {
  const first = { lenderId: newId() };
  const deducted = [due(1, 100n, first), due(2, 200n), due(3, -30n, first), due(4, 30n, first)];
  const times = [100n, 300n, 270n, 200n].map((amountMinor) => creditTimeReaching(deducted, amountMinor));
  expect(times).toEqual([at(1), at(2), at(3), undefined]);
});

test("creditTimeReaching leaves out each lender whose earnings add up to less than 0", () => {
  const first = { lenderId: newId() };
  const owed = [due(1, -30n, first), due(2, 200n), due(3, 50n, first)];
  const times = [200n, 220n, 170n].map((amountMinor) => creditTimeReaching(owed, amountMinor));
  expect(times).toEqual([at(2), at(3), undefined]);
});

test("creditTimeReaching returns undefined if there are no earnings", () => {
  expect(creditTimeReaching([], 0n)).toBeUndefined();
});
