import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_MINOR } from "./amount.ts";
import { currency } from "./currency.ts";
import { toDecimal, toWire } from "./decimal.ts";
import { EXPONENTS } from "./iso-4217.ts";

describe("toWire and toDecimal", () => {
  test.each([
    [250_000n, "INR", "2500", "2500.00"],
    [250_050n, "INR", "2500.5", "2500.50"],
    [6255n, "INR", "62.55", "62.55"],
    [6250n, "INR", "62.5", "62.50"],
    [1n, "INR", "0.01", "0.01"],
    [0n, "INR", "0", "0.00"],
    [100n, "INR", "1", "1.00"],
    [-6255n, "INR", "-62.55", "-62.55"],
    [-5n, "INR", "-0.05", "-0.05"],
    [2500n, "JPY", "2500", "2500"],
    [0n, "JPY", "0", "0"],
    [-10n, "JPY", "-10", "-10"],
    [50n, "KWD", "0.05", "0.050"],
    [10_000n, "CLF", "1", "1.0000"],
    [MAX_MINOR, "INR", "9999999999999.99", "9999999999999.99"],
  ])("convert %s minor units of %s to the JSON number %s and the text %s", (minor, code, wire, decimal) => {
    expect(JSON.stringify({ amount: toWire(minor, currency(code)) })).toBe(`{"amount":${wire}}`);
    expect(toDecimal(minor, currency(code))).toBe(decimal);
  });

  test("agree up to MAX_MINOR for a client that reads the JSON number as a double", () => {
    const signedMinor = fc.bigInt({ min: -MAX_MINOR, max: MAX_MINOR });
    const anyCode = fc.constantFrom(...EXPONENTS.keys());
    fc.assert(
      fc.property(signedMinor, anyCode, (minor, code) => {
        const text = JSON.stringify(toWire(minor, currency(code)));
        const double = JSON.parse(text) as number;
        expect(double.toFixed(EXPONENTS.get(code) ?? 0)).toBe(toDecimal(minor, currency(code)));
      }),
    );
  });

  test("toWire is exact beyond the precision of a double", () => {
    expect(JSON.stringify(toWire(12_345_678_901_234_567_890n, currency("INR")))).toBe("123456789012345678.9");
  });
});
