import { describe, expect, test } from "vitest";
import { currency, exponentOf, InvalidCurrencyError, isCurrency } from "./currency.ts";
import { EXPONENTS } from "./iso-4217.ts";

describe("the ISO 4217 table", () => {
  test.each([
    ["JPY", 0],
    ["KRW", 0],
    ["VND", 0],
    ["XOF", 0],
    ["UYI", 0],
    ["INR", 2],
    ["USD", 2],
    ["EUR", 2],
    ["ZWG", 2],
    ["XCG", 2],
    ["KWD", 3],
    ["BHD", 3],
    ["TND", 3],
    ["CLF", 4],
    ["UYW", 4],
  ])("%s has %i decimals", (code, exponent) => {
    expect(exponentOf(currency(code))).toBe(exponent);
  });

  test.each(["IDR", "HUF", "PKR", "COP"])(
    "%s has the 2 decimals of ISO 4217, although Intl formats it without decimals",
    (code) => {
      expect(exponentOf(currency(code))).toBe(2);
      expect(new Intl.NumberFormat("en", { style: "currency", currency: code }).resolvedOptions()).toMatchObject({
        maximumFractionDigits: 0,
      });
    },
  );

  test("has the 165 active currencies and funds, each once, in three capital letters", () => {
    expect(EXPONENTS.size).toBe(165);
    expect([...EXPONENTS.keys()].filter((code) => !/^[A-Z]{3}$/.test(code))).toEqual([]);
  });

  test("differs from Intl only in currencies that Intl formats without decimals", () => {
    const moreThanInShops = [...EXPONENTS].filter(([code, exponent]) => exponent > intlDecimals(code));
    const fewerThanInShops = [...EXPONENTS].filter(([code, exponent]) => exponent < intlDecimals(code));
    expect(moreThanInShops.map(([code]) => code)).toEqual(expect.arrayContaining(["IDR", "HUF", "IQD", "MMK"]));
    expect(moreThanInShops.every(([code]) => intlDecimals(code) === 0)).toBe(true);
    expect(fewerThanInShops).toEqual([]);
  });
});

describe("currency", () => {
  // ISO 4217 also has codes for gold (XAU), drawing rights (XDR), former currencies, and no currency (XXX).
  test.each(["inr", "IN", "INRR", "", " INR", "XXX", "XAU", "XDR", "HRK", "BGN", "ABC", "__proto__", "constructor"])(
    "rejects %j",
    (code) => {
      expect(isCurrency(code)).toBe(false);
      expect(() => currency(code)).toThrow(InvalidCurrencyError);
    },
  );

  test("throws an error with a stable code, the received text and an example", () => {
    expect(() => currency("rupees")).toThrow(
      expect.objectContaining({
        code: "INVALID_CURRENCY",
        received: "rupees",
        message: '"rupees" is not an active ISO 4217 currency; expected three capital letters such as INR.',
      }),
    );
  });

  test("exponentOf rejects an invalid code even if it has the type CurrencyCode", () => {
    expect(() => exponentOf("ABC" as never)).toThrow(InvalidCurrencyError);
  });
});

function intlDecimals(code: string): number {
  const { maximumFractionDigits } = new Intl.NumberFormat("en", {
    style: "currency",
    currency: code,
  }).resolvedOptions();
  return maximumFractionDigits ?? 0;
}
