import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_MINOR, readAmount, readMinor } from "./amount.ts";
import { currency } from "./currency.ts";
import { toDecimal } from "./decimal.ts";
import { EXPONENTS } from "./iso-4217.ts";
import { AmountLiteral, parseJson } from "./parse-json.ts";

const INR = currency("INR");
const JPY = currency("JPY");
const KWD = currency("KWD");

const anyCurrency = fc.constantFrom(...EXPONENTS.keys()).map((code) => currency(code));
const anyMinor = fc.bigInt({ min: 1n, max: MAX_MINOR });

describe("readAmount", () => {
  test.each([
    ["2500", INR, 250_000n],
    ["2500.0", INR, 250_000n],
    ["2500.00000", INR, 250_000n],
    ["2.5E3", INR, 250_000n],
    ["2.5e+3", INR, 250_000n],
    ["25e2", INR, 250_000n],
    ["250000e-2", INR, 250_000n],
    ["62.55", INR, 6255n],
    ["0.01", INR, 1n],
    ["1e-2", INR, 1n],
    ["0.0000001e5", INR, 1n],
    ["1e0000000000000000000000002", INR, 10_000n],
    ["1.10", INR, 110n],
    ["2500", JPY, 2500n],
    ["2500.000", JPY, 2500n],
    ["0.005", KWD, 5n],
    ["1e12", INR, 100_000_000_000_000n],
    ["9999999999999.99", INR, MAX_MINOR],
    ["999999999999999", JPY, MAX_MINOR],
    ["999999999999.999", KWD, MAX_MINOR],
  ])("reads %s %s as %s minor units", (source, code, minor) => {
    expect(readAmount(source, code)).toEqual({ minor });
    expect(readAmount(new AmountLiteral(source), code)).toEqual({ minor });
  });

  test("reads amounts exactly, even those that floating-point arithmetic would get wrong", () => {
    expect(1.005 * 1000).not.toBe(1005);
    expect(readAmount("1.005", KWD)).toEqual({ minor: 1005n });
    expect(readAmount("8.2", INR)).toEqual({ minor: 820n });
    expect(readAmount("1234567890123.45", INR)).toEqual({ minor: 123_456_789_012_345n });
  });

  test.each([
    ["2500.123", INR, "INR takes at most 2 decimals; got 2500.123."],
    ["1.0000000001", INR, "INR takes at most 2 decimals; got 1.0000000001."],
    ["1e-7", INR, "INR takes at most 2 decimals; got 1e-7."],
    ["1e-99999999999999999999", INR, "INR takes at most 2 decimals; got 1e-99999999999999999999."],
    ["0.5", JPY, "JPY takes no decimals; got 0.5."],
    ["0.0001", KWD, "KWD takes at most 3 decimals; got 0.0001."],
    ["9999999999999.991", INR, "INR takes at most 2 decimals; got 9999999999999.991."],
  ])("rejects %s %s, which has more decimals than the currency", (source, code, detail) => {
    expect(readAmount(source, code)).toEqual({ fault: "AMOUNT_PRECISION", detail });
  });

  test.each([
    ["0", "Expected an amount greater than 0; got 0."],
    ["0.00", "Expected an amount greater than 0; got 0.00."],
    ["-0", "Expected an amount greater than 0; got -0."],
    ["0e99999999999999999999", "Expected an amount greater than 0; got 0e99999999999999999999."],
    ["-5", "Expected an amount greater than 0; got -5."],
    ["-0.001", "Expected an amount greater than 0; got -0.001."],
    ["10000000000000", "Expected at most 9999999999999.99 INR; got 10000000000000."],
    ["1e400", "Expected at most 9999999999999.99 INR; got 1e400."],
    ["1e999999999", "Expected at most 9999999999999.99 INR; got 1e999999999."],
    ["1e99999999999999999999", "Expected at most 9999999999999.99 INR; got 1e99999999999999999999."],
  ])("rejects %s, which is out of range", (source, detail) => {
    expect(readAmount(source, INR)).toEqual({ fault: "AMOUNT_OUT_OF_RANGE", detail });
  });

  test.each([
    "01",
    "0x10",
    "0b1",
    "+1",
    ".5",
    "1.",
    "1e",
    "1_000",
    "1,000",
    " 1",
    "1\n",
    "",
    "NaN",
    "Infinity",
    "١",
    "1n",
  ])("rejects %j, which is not a JSON number", (source) => {
    expect(readAmount(source, INR)).toEqual({
      fault: "AMOUNT_OUT_OF_RANGE",
      detail: `Expected a number such as 2500 or 2500.5; got ${source}.`,
    });
  });

  test("accepts zero, -0 and 0e9 if zero is allowed, but no negative amount", () => {
    for (const zero of ["0", "-0", "-0.000", "0e9", "0e-9"]) {
      expect(readAmount(zero, INR, { allowZero: true })).toEqual({ minor: 0n });
    }
    expect(readAmount("-1", INR, { allowZero: true })).toEqual({
      fault: "AMOUNT_OUT_OF_RANGE",
      detail: "Expected an amount of 0 or more; got -1.",
    });
  });

  test("reads or rejects a number of several megabytes, and shortens the number in the message", () => {
    const zeros = "0".repeat(5_000_000);
    expect(readAmount(`0.${zeros}1`, INR)).toEqual({
      fault: "AMOUNT_PRECISION",
      detail: `INR takes at most 2 decimals; got 0.${"0".repeat(38)}… (5000003 characters).`,
    });
    expect(readAmount(`1${zeros}1`, INR)).toMatchObject({ fault: "AMOUNT_OUT_OF_RANGE" });
    expect(readAmount("7".repeat(10_000), INR)).toMatchObject({ fault: "AMOUNT_OUT_OF_RANGE" });
    expect(readAmount(`0.${"0".repeat(10_000)}1e10001`, INR)).toEqual({ minor: 100n });
    expect(readAmount(`2500.${"0".repeat(10_000)}`, INR)).toEqual({ minor: 250_000n });
  });

  test("reads the text that toDecimal returns, in every currency and also in exponent notation", () => {
    fc.assert(
      fc.property(anyMinor, anyCurrency, fc.integer({ min: -30, max: 30 }), (minor, code, shift) => {
        const decimal = toDecimal(minor, code);
        expect(readAmount(decimal, code)).toEqual({ minor });
        expect(readAmount(shiftPoint(decimal, shift), code)).toEqual({ minor });
      }),
    );
  });

  test("returns the exact value of a JSON number, as computed with fractions", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.integer({ min: -25, max: 25 }), (digits, power) => {
        const numerator = digits * 10n ** BigInt(Math.max(power + 2, 0));
        const denominator = 10n ** BigInt(Math.max(-power - 2, 0));
        const minor = numerator / denominator;
        const inRange = minor <= MAX_MINOR ? { minor } : { fault: "AMOUNT_OUT_OF_RANGE" };
        const expected = numerator % denominator === 0n ? inRange : { fault: "AMOUNT_PRECISION" };
        expect(readAmount(`${digits}e${power}`, INR, { allowZero: true })).toMatchObject(expected);
      }),
    );
  });

  test("reads an amount that parseJson returned, without a conversion to a double", () => {
    const body = parseJson('{"amount":9999999999999.990}', new Set(["amount"])) as { amount: AmountLiteral };
    expect(readAmount(body.amount, INR)).toEqual({ minor: MAX_MINOR });
  });
});

describe("readMinor", () => {
  test.each([
    ["1", 1n],
    ["250000", 250_000n],
    ["000250000", 250_000n],
    ["999999999999999", MAX_MINOR],
  ])("accepts %s", (text, minor) => {
    expect(readMinor(text)).toEqual({ minor });
  });

  test.each([
    ["0", "Expected an amount greater than 0; got 0."],
    ["0000", "Expected an amount greater than 0; got 0."],
    ["1000000000000000", "Expected at most 999999999999999 minor units; got 1000000000000000."],
    ["12.5", 'Expected minor units in digits, such as "250000"; got "12.5".'],
    ["-1", 'Expected minor units in digits, such as "250000"; got "-1".'],
    ["1e3", 'Expected minor units in digits, such as "250000"; got "1e3".'],
    ["0x10", 'Expected minor units in digits, such as "250000"; got "0x10".'],
    ["", 'Expected minor units in digits, such as "250000"; got "".'],
    [" 1", 'Expected minor units in digits, such as "250000"; got " 1".'],
    ["1\n", 'Expected minor units in digits, such as "250000"; got "1\n".'],
    ["٣", 'Expected minor units in digits, such as "250000"; got "٣".'],
  ])("rejects %j", (text, detail) => {
    expect(readMinor(text)).toEqual({ fault: "AMOUNT_OUT_OF_RANGE", detail });
  });

  test("rejects an amount of a million digits, with a short message", () => {
    const detail = `Expected at most 999999999999999 minor units; got ${"9".repeat(40)}… (1000000 characters).`;
    expect(readMinor("9".repeat(1_000_000))).toEqual({ fault: "AMOUNT_OUT_OF_RANGE", detail });
  });
});

/** Returns the same number in exponent notation: moves the decimal point, and adds an exponent that compensates. */
function shiftPoint(decimal: string, shift: number): string {
  const [whole = "", fraction = ""] = decimal.split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const power = -fraction.length;
  return shift >= 0
    ? `${digits}${"0".repeat(shift)}e${power - shift}`
    : `0.${"0".repeat(-shift)}${digits}E${power - shift + digits.length}`;
}
