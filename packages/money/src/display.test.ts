import { describe, expect, test } from "vitest";
import { MAX_MINOR } from "./amount.ts";
import { currency } from "./currency.ts";
import { display } from "./display.ts";
import { money } from "./money.ts";

const rupees = money(25_000_050n, currency("INR"));

describe("display", () => {
  test.each([
    ["en-IN", "₹2,50,000.50"],
    ["en", "₹250,000.50"],
    ["hi-IN", "₹2,50,000.50"],
    ["de", "250.000,50 ₹"],
  ])("formats an amount for the locale %s", (locale, text) => {
    expect(display(rupees, locale).replaceAll("\u00a0", " ")).toBe(text);
  });

  test("always shows all decimals of the currency", () => {
    expect(display(money(250_000n, currency("INR")))).toBe("₹2,500.00");
    expect(display(money(2500n, currency("JPY")))).toBe("¥2,500");
    expect(display(money(250_000n, currency("HUF")), "hu").replaceAll("\u00a0", " ")).toBe("2500,00 Ft");
    expect(display(money(-5n, currency("KWD"))).replaceAll("\u00a0", " ")).toBe("-KWD 0.005");
  });

  test("is exact at 15 digits and beyond the precision of a double", () => {
    expect(display(money(MAX_MINOR, currency("INR")))).toBe("₹9,999,999,999,999.99");
    expect(display(money(12_345_678_901_234_567_891n, currency("INR")))).toBe("₹123,456,789,012,345,678.91");
  });

  test.each([
    undefined,
    "",
    "xx_nonsense",
    "en_IN",
    "tlh",
    "../../etc/passwd",
    "e".repeat(10_000),
    `en-IN-x${"-longlong".repeat(4)}`,
  ])("formats an amount in English for the unknown locale %j", (locale) => {
    expect(display(rupees, locale)).toBe("₹250,000.50");
  });

  test("still formats correctly after clients have sent more locales than the cache can hold", () => {
    for (let index = 0; index < 1_200; index += 1) {
      expect(display(rupees, `en-x-client${index}`)).toBe("₹250,000.50");
    }
    expect(display(rupees, "en-IN")).toBe("₹2,50,000.50");
  });
});
