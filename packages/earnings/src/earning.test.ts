import { newId } from "@collections/database";
import { currency, parsePercent, type Percent } from "@collections/money";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commissionOn, credited, earningOn, formula, InvalidCursorError } from "./index.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";

const INR = currency("INR");
const NOW = new Date("2026-11-20T09:41:07.512Z");

function percent(text: string): Percent {
  const reading = parsePercent(text);
  if ("fault" in reading) throw new Error(reading.detail);
  return reading.percent;
}

const payment = {
  lenderId: newId(),
  caseId: newId(),
  bookingId: newId(),
  sourceLoanNumber: "LN-1001",
  reference: "pay_Nx81",
  fieldPartnerId: newId(),
  currency: INR,
  appliedMinor: 250_000n,
};

describe("commission", () => {
  test.each([
    [250_000n, "2.5", 6_250n],
    [100n, "2.5", 2n],
    [300n, "2.5", 8n],
    [19n, "2.5", 0n],
    [20n, "2.5", 0n],
    [21n, "2.5", 1n],
    [1n, "100", 1n],
    [250_000n, "0", 0n],
    [9_007_199_254_740_993n, "0.0001", 9_007_199_255n],
  ])("on an applied amount of %i at %s%% is %i", (applied, rate, expected) => {
    expect(commissionOn(applied, percent(rate))).toBe(expected);
  });

  test("on the parts of an amount differs from the commission on the whole by less than one minor unit per part", () => {
    const parts = fc.array(fc.bigInt({ min: 1n, max: 10n ** 12n }), { minLength: 1, maxLength: 20 });
    const rate = fc.bigInt({ min: 0n, max: 1_000_000n });
    fc.assert(
      fc.property(parts, rate, (amounts, rate) => {
        const commission = rate as Percent;
        const whole = commissionOn(
          amounts.reduce((sum, amount) => sum + amount),
          commission,
        );
        const sum = amounts.reduce((sum, amount) => sum + commissionOn(amount, commission), 0n);
        const difference = sum > whole ? sum - whole : whole - sum;
        expect(difference).toBeLessThan(BigInt(amounts.length) + 1n);
      }),
    );
  });
});

describe("an earning", () => {
  test("is pending, and its formula shows the rate and the applied amount", () => {
    const earning = earningOn(payment, percent("2.5"), NOW);
    expect(earning).toMatchObject({
      bookingId: payment.bookingId,
      fieldPartnerId: payment.fieldPartnerId,
      baseMinor: 250_000n,
      amountMinor: 6_250n,
      status: "pending",
      earnedAt: NOW,
      creditedAt: null,
    });
    expect(formula(earning!)).toBe("2.5% of ₹2,500.00");
    expect(formula(earning!, "hi-IN")).toBe("2.5% of ₹2,500.00");
  });

  test("exists only if there is a field partner and the commission is not 0, and never exceeds the payment", () => {
    const someone = fc.option(fc.constant(newId()));
    const applied = fc.oneof(fc.bigInt({ min: 0n, max: 100n }), fc.bigInt({ min: 0n, max: 10n ** 15n }));
    fc.assert(
      fc.property(someone, applied, fc.bigInt({ min: 0n, max: 1_000_000n }), (fieldPartnerId, appliedMinor, rate) => {
        const commission = rate as Percent;
        const earning = earningOn({ ...payment, fieldPartnerId, appliedMinor }, commission, NOW);
        const due = fieldPartnerId === null ? 0n : commissionOn(appliedMinor, commission);
        expect(earning?.amountMinor ?? 0n).toBe(due);
        expect(due <= appliedMinor).toBe(true);
      }),
    );
  });

  test("keeps its first credit time when it is credited again", () => {
    const first = credited(earningOn(payment, percent("2.5"), NOW)!, NOW);
    expect(first).toMatchObject({ status: "credited", creditedAt: NOW });
    expect(credited(first, new Date(NOW.getTime() + 1))).toBe(first);
  });
});

/** Parses a formula into the rate and the amount in minor units. */
function readFormula(text: string, decimals: number): { rate: bigint; baseMinor: bigint } {
  const [, rate = "", amount = ""] = /^([0-9]+(?:\.[0-9]+)?)% of [^0-9]*([0-9,]+(?:\.[0-9]+)?)$/.exec(text)!;
  const shifted = (number: string, places: number) => {
    const [whole = "", fraction = ""] = number.replaceAll(",", "").split(".");
    expect(fraction.length).toBeLessThanOrEqual(places);
    return BigInt(whole + fraction.padEnd(places, "0"));
  };
  return { rate: shifted(rate, 4), baseMinor: shifted(amount, decimals) };
}

/** Divides with rounding half to even. It does not use the code under test. */
function nearestEven(numerator: bigint, denominator: bigint): bigint {
  const below = numerator / denominator;
  const [toBelow, toAbove] = [numerator - below * denominator, (below + 1n) * denominator - numerator];
  if (toBelow === toAbove) return below % 2n === 0n ? below : below + 1n;
  return toBelow < toAbove ? below : below + 1n;
}

describe("a formula", () => {
  test.each([
    ["INR", 2, 6_250n, "2.5", "2.5% of ₹62.50", 156n],
    ["INR", 2, 100n, "2.5", "2.5% of ₹1.00", 2n],
    ["INR", 2, 300n, "2.5", "2.5% of ₹3.00", 8n],
    ["JPY", 0, 1_234_567n, "2.5", "2.5% of ¥1,234,567", 30_864n],
    ["JPY", 0, 20n, "7.5", "7.5% of ¥20", 2n],
    ["KWD", 3, 12_345_678n, "0.0001", "0.0001% of KWD 12,345.678", 12n],
    ["KWD", 3, 1_500n, "33.3333", "33.3333% of KWD 1.500", 500n],
  ])(
    "in %s (%i decimals), for %i minor units at %s%%, reads %s and yields an earning of %i",
    (code, decimals, base, rate, text, due) => {
      const earning = earningOn({ ...payment, currency: currency(code), appliedMinor: base }, percent(rate), NOW)!;
      expect(formula(earning).replaceAll("\u00a0", " ")).toBe(text);
      expect(earning.amountMinor).toBe(due);
      const read = readFormula(formula(earning), decimals);
      expect(nearestEven(read.rate * read.baseMinor, 1_000_000n)).toBe(due);
    },
  );

  test("gives the earning's amount for any sequence of payments of a loan, including partial payments and excess", () => {
    const currencies = fc.constantFrom(["INR", 2], ["JPY", 0], ["KWD", 3], ["USD", 2]) as fc.Arbitrary<
      [string, number]
    >;
    const payments = fc.array(fc.bigInt({ min: 1n, max: 10n ** 13n }), { minLength: 1, maxLength: 8 });
    const rates = fc.oneof(fc.bigInt({ min: 1n, max: 1_000_000n }), fc.constantFrom(5_000n, 25_000n, 500_000n));
    const placed = fc.oneof(fc.bigInt({ min: 1n, max: 2_000n }), fc.bigInt({ min: 1n, max: 10n ** 14n }));
    fc.assert(
      fc.property(currencies, payments, rates, placed, ([code, decimals], amounts, rate, placedMinor) => {
        let outstandingMinor = placedMinor;
        for (const paidMinor of amounts) {
          const appliedMinor = paidMinor < outstandingMinor ? paidMinor : outstandingMinor;
          outstandingMinor -= appliedMinor;
          const earning = earningOn({ ...payment, currency: currency(code), appliedMinor }, rate as Percent, NOW);
          const due = nearestEven(appliedMinor * rate, 1_000_000n);
          expect(earning?.amountMinor ?? 0n).toBe(due);
          if (!earning) continue;
          const read = readFormula(formula(earning), decimals);
          expect(read).toEqual({ rate, baseMinor: appliedMinor });
          expect(nearestEven(read.rate * read.baseMinor, 1_000_000n)).toBe(earning.amountMinor);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a cursor", () => {
  test("decodes to the position that was encoded", () => {
    const position = { earnedAt: NOW, id: newId() };
    expect(decodeCursor(encodeCursor(position))).toEqual(position);
  });

  test.each([
    "",
    "x",
    "MTIz",
    Buffer.from("1:not-an-id").toString("base64url"),
    "'; drop table",
    encodeCursor({ earnedAt: new Date(999_999_999_999_999), id: newId() }),
    encodeCursor({ earnedAt: new Date("2200-01-01T00:00:00Z"), id: newId() }),
  ])("is rejected with InvalidCursorError: %j", (text) => {
    expect(() => decodeCursor(text)).toThrow(InvalidCursorError);
  });
});
