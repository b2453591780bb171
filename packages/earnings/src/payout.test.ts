import { expect, test } from "vitest";
import { anEarning, NOW } from "../tests/fixture.ts";
import { credited, type Earning, reachedAt } from "./index.ts";

/** Credited so many seconds after NOW. */
function due(seconds: number, amountMinor: bigint): Earning {
  return credited(anEarning({ amountMinor }), at(seconds));
}

function at(seconds: number): Date {
  return new Date(NOW.getTime() + seconds * 1_000);
}

// In no order of time.
const lines = [due(3, 9n), due(1, 2n), due(2, 3n), due(2, 4n), due(1, 1n)];

test.each([
  [3n, at(1)],
  [10n, at(2)],
  [19n, at(3)],
])("what was credited first comes to %d at a moment", (amountMinor, moment) => {
  expect(reachedAt(lines, amountMinor)).toEqual(moment);
});

test.each([0n, 2n, 6n, 11n, 20n])("what was credited first comes to %d at no moment", (amountMinor) => {
  expect(reachedAt(lines, amountMinor)).toBeUndefined();
});

test("of nothing, nothing is reached", () => {
  expect(reachedAt([], 0n)).toBeUndefined();
});
