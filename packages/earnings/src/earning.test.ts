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
  ])("on %i at %s%% is %i", (applied, rate, expected) => {
    expect(commissionOn(applied, percent(rate))).toBe(expected);
  });

  test("of the parts of an amount differs from that of the whole by less than a minor unit a part", () => {
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
  test("is pending, and says what it is made of", () => {
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

  test("is made exactly for a payment with a field partner whose commission is not 0, and never exceeds it", () => {
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

  test("is credited once, at the first end of its case", () => {
    const first = credited(earningOn(payment, percent("2.5"), NOW)!, NOW);
    expect(first).toMatchObject({ status: "credited", creditedAt: NOW });
    expect(credited(first, new Date(NOW.getTime() + 1))).toBe(first);
  });
});

describe("a cursor", () => {
  test("leads back to its place", () => {
    const place = { earnedAt: NOW, id: newId() };
    expect(decodeCursor(encodeCursor(place))).toEqual(place);
  });

  test.each([
    "",
    "x",
    "MTIz",
    Buffer.from("1:not-an-id").toString("base64url"),
    "'; drop table",
    encodeCursor({ earnedAt: new Date(999_999_999_999_999), id: newId() }),
    encodeCursor({ earnedAt: new Date("2200-01-01T00:00:00Z"), id: newId() }),
  ])("%j is refused with a code", (text) => {
    expect(() => decodeCursor(text)).toThrow(InvalidCursorError);
  });
});
