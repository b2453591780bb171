import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parsePercent, percentOf, percentText, type Percent } from "./percent.ts";

describe("parsePercent and percentText", () => {
  test.each([
    ["0", 0n, "0"],
    ["2.5", 25_000n, "2.5"],
    ["2.50", 25_000n, "2.5"],
    ["10", 100_000n, "10"],
    ["0.0001", 1n, "0.0001"],
    ["99.9999", 999_999n, "99.9999"],
    ["100", 1_000_000n, "100"],
    ["100.0000", 1_000_000n, "100"],
  ])("read %s as %s ten-thousandths of a percent, and write it as %s", (text, tenThousandths, printed) => {
    expect(parsePercent(text)).toEqual({ percent: tenThousandths });
    expect(percentText(percent(text))).toBe(printed);
  });

  test.each([
    "100.0001",
    "101",
    "1000",
    "-1",
    "2.12345",
    "1e1",
    "",
    ".5",
    "5.",
    " 5",
    "5%",
    "5\n",
    "٥",
    "9".repeat(10_000),
  ])("parsePercent rejects %j", (text) => {
    expect(parsePercent(text)).toEqual({
      fault: "INVALID_PERCENT",
      detail: `Expected a percentage from 0 to 100 with at most 4 decimals, such as 2.5; got "${text.slice(0, 40)}".`,
    });
  });

  test("parsePercent reads every text that percentText returns", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1_000_000n }), (tenThousandths) => {
        expect(parsePercent(percentText(tenThousandths as Percent))).toEqual({ percent: tenThousandths });
      }),
    );
  });
});

describe("percentOf", () => {
  test.each([
    [250_000n, "2.5", 6250n],
    [100n, "2.5", 2n],
    [300n, "2.5", 8n],
    [500n, "2.5", 12n],
    [101n, "2.5", 3n],
    [99n, "2.5", 2n],
    [1n, "50", 0n],
    [3n, "50", 2n],
    [1n, "50.0001", 1n],
    [1n, "49.9999", 0n],
    [-100n, "2.5", -2n],
    [-300n, "2.5", -8n],
    [0n, "100", 0n],
    [12_345n, "0", 0n],
    [12_345n, "100", 12_345n],
    [999_999_999_999_999n, "33.3333", 333_333_000_000_000n],
  ])("for %s minor units and %s %%, returns %s, rounded half to even", (minor, text, part) => {
    expect(percentOf(minor, percent(text))).toBe(part);
  });

  test("rounds to the nearest whole number, or to the even one of two equally near numbers", () => {
    const amounts = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
    const percents = fc.oneof(fc.bigInt({ min: 0n, max: 1_000_000n }), fc.constantFrom(5_000n, 25_000n, 500_000n));
    fc.assert(
      fc.property(amounts, percents, (minor, tenThousandths) => {
        const part = percentOf(minor, tenThousandths as Percent);
        const twiceError = magnitudeOf((minor * tenThousandths - part * 1_000_000n) * 2n);
        const isNearest = twiceError < 1_000_000n || (twiceError === 1_000_000n && part % 2n === 0n);
        expect(isNearest).toBe(true);
      }),
    );
  });
});

function percent(text: string): Percent {
  const reading = parsePercent(text);
  if ("fault" in reading) throw new Error(reading.detail);
  return reading.percent;
}

function magnitudeOf(value: bigint): bigint {
  return value < 0n ? -value : value;
}
