import * as fc from "fast-check";
import { expect, test } from "vitest";
import { AmountLiteral, InvalidAmountError, majorUnits, minorUnits } from "./amount.ts";

test("majorUnits and minorUnits convert amounts exactly, for currencies with any number of decimals", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), fc.constantFrom(0, 2, 3), (minor, decimals) => {
      expect(minorUnits(majorUnits(minor, decimals), decimals)).toBe(minor);
    }),
  );
});

test.each([
  ["2500", 2, 250_000n],
  ["2500.5", 2, 250_050n],
  ["2500.500", 2, 250_050n],
  ["-0.05", 3, -50n],
  ["999999999999999.99", 2, 99_999_999_999_999_999n],
])("minorUnits converts %s with %i decimals to %s minor units", (amount, decimals, minor) => {
  expect(minorUnits(amount, decimals)).toBe(minor);
});

test.each(["1.005", "1,5", "", "1e3", " 1", "INR 5"])(
  "minorUnits rejects the amount %j instead of rounding or guessing",
  (amount) => {
    expect(() => minorUnits(amount, 2)).toThrow(InvalidAmountError);
  },
);

test("an amount that is a number is rejected, with an error that explains the fix", () => {
  expect(() => new AmountLiteral(0.1 + 0.2, "amount")).toThrow(
    /^amount: .*got the number 0\.30000000000000004, which may have lost digits .*majorUnits\(minor, 2\)/,
  );
  expect(() => new AmountLiteral(250_050n, "rows[3].emiAmount")).toThrow(
    /^rows\[3\]\.emiAmount: .*majorUnits\(250050n, 2\)/,
  );
  expect(() => new AmountLiteral("2,500", "amount")).toThrow(/digits, such as "2500\.50"; got "2,500"/);
});
