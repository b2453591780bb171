import { currency } from "@collections/money";
import { describe, expect, test } from "vitest";
import { minorUnitsIn } from "./minor-units.ts";

function differing(rowMinor: bigint, bookedMinor: bigint, code = "INR") {
  return {
    rowMinor,
    rowCurrency: currency(code),
    bookedMinor,
    reversedMinor: 0n,
    bookedCurrency: currency(code),
  };
}

const inPaise = Array.from({ length: 9 }, (_, index) =>
  differing(BigInt(index + 1) * 10_000n, BigInt(index + 1) * 100n),
);
const booked = inPaise.map(({ rowMinor, bookedMinor }) => differing(bookedMinor, rowMinor));
const other = differing(500n, 300n);

describe("minorUnitsIn", () => {
  test("finds nothing without differing rows", () => {
    expect(minorUnitsIn([])).toBeUndefined();
  });

  test("finds nine of ten rows in minor units", () => {
    expect(minorUnitsIn([...inPaise, other])).toEqual({ side: "yours", count: 9, of: 10 });
    expect(minorUnitsIn([...booked, other])).toEqual({ side: "ours", count: 9, of: 10 });
  });

  test("finds nothing if fewer rows differ by 100", () => {
    expect(minorUnitsIn([...inPaise, other, other])).toBeUndefined();
    expect(minorUnitsIn([...inPaise.slice(0, 5), ...booked.slice(0, 5)])).toBeUndefined();
    expect(minorUnitsIn([other])).toBeUndefined();
  });

  test("compares with what reversals have left of the booking", () => {
    const reversed = { ...differing(20_000n, 500n), reversedMinor: 300n };
    expect(minorUnitsIn([reversed])).toEqual({ side: "yours", count: 1, of: 1 });
  });

  test.each([
    ["KWD", 1_000n, "yours"],
    ["KWD", 100n, undefined],
    ["JPY", 100n, undefined],
    ["INR", 100n, "yours"],
  ])("uses the factor of %s: %d times", (code, factor, side) => {
    expect(minorUnitsIn([differing(5n * factor, 5n, code)])?.side).toBe(side);
  });

  test("does not compare amounts in two currencies", () => {
    expect(minorUnitsIn([{ ...differing(500n, 5n), bookedCurrency: currency("USD") }])).toBeUndefined();
  });
});
