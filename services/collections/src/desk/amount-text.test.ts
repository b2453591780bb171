import { currency, grouped } from "@collections/money";
import { expect, test } from "vitest";
import { amountText } from "./amount-text.ts";

test.each([
  [12_500_050n, "INR", "1,25,000.50 INR"],
  [1_234_567_890_123_456_789n, "INR", "12,34,56,78,90,12,34,567.89 INR"],
  [-99_900n, "INR", "-999.00 INR"],
  [12_500_050n, "EUR", "125,000.50 EUR"],
  [1_250_000n, "JPY", "1,250,000 JPY"],
  [1_250_000n, "KWD", "1,250.000 KWD"],
  [0n, "INR", "0.00 INR"],
])("amountText groups %s minor units of %s as its readers do", (minor, code, text) => {
  expect(amountText(minor, currency(code))).toBe(text);
});

test.each([
  ["125000.50", "INR", "1,25,000.50"],
  ["-99999999999999999.01", "INR", "-99,99,99,99,99,99,99,999.01"],
  ["5000", "JPY", "5,000"],
])("grouped keeps each digit of %s %s", (decimal, code, text) => {
  expect(grouped(decimal, code)).toBe(text);
});
