import { expect, test } from "vitest";
import { anEarning, NOW } from "../tests/fixture.ts";
import { credited, creditTimeReaching, type Earning } from "./index.ts";

/** Returns an earning that was credited `seconds` after NOW. */
function due(seconds: number, amountMinor: bigint): Earning {
  return credited(anEarning({ amountMinor }), at(seconds));
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

test("creditTimeReaching returns undefined if there are no earnings", () => {
  expect(creditTimeReaching([], 0n)).toBeUndefined();
});
