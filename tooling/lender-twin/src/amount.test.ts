import { expect, test } from "vitest";
import { AmountError, toMinor, toText, toWire } from "./amount.ts";

test.each([
  [2500, "INR", 250_000n, "2500.00"],
  [1250.5, "INR", 125_050n, "1250.50"],
  ["0.07", "INR", 7n, "0.07"],
  [1, "JPY", 1n, "1"],
  [1.234, "KWD", 1234n, "1.234"],
  [99_999_999_999.99, "INR", 9_999_999_999_999n, "99999999999.99"],
])("toMinor, toText and toWire convert %s %s without floating-point arithmetic", (amount, currency, minor, text) => {
  expect(toMinor(amount, currency)).toBe(minor);
  expect(toText(minor, currency)).toBe(text);
  expect(toWire(minor, currency)).toBe(Number(amount));
});

test.each([
  [0.1 + 0.7, "INR"],
  [1.5, "JPY"],
  ["-1", "INR"],
  ["1,000", "INR"],
  ["", "INR"],
  [1e21, "INR"],
])("toMinor rejects %s as an amount of %s", (amount, currency) => {
  expect(() => toMinor(amount, currency)).toThrow(AmountError);
});
