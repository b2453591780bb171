import { firstIdAt } from "@collections/database";
import { currency } from "@collections/money";
import { describe, expect, test } from "vitest";
import { bookingWarnings, type Unwarned, type WarningFacts } from "./booking-warnings.ts";

const IMPORTED_AT = new Date("2026-11-20T00:00:00Z");
const BEFORE_THE_CASE = new Date("2026-11-19T10:00:00Z");
const AFTER_THE_CASE = new Date("2026-11-21T10:00:00Z");
const AS_OF = new Date("2026-11-22T18:00:00Z");
const INR = currency("INR");

/** A payment of 2,500 rupees on a loan of 5,000. */
function aBooking(fields: Partial<Unwarned> = {}): Unwarned {
  return {
    lenderId: firstIdAt(IMPORTED_AT),
    id: firstIdAt(AFTER_THE_CASE),
    sourceLoanNumber: "LN-1",
    reference: "pay_1",
    caseId: firstIdAt(IMPORTED_AT),
    cycle: 1,
    amountMinor: 250_000n,
    currency: INR,
    mode: "upi",
    rawMode: "upi",
    paidAt: AFTER_THE_CASE,
    linkId: null,
    visitId: null,
    fieldPartnerId: null,
    attribution: "none",
    appliedMinor: 250_000n,
    excessMinor: 0n,
    outstandingAfterMinor: 250_000n,
    totalCollectedAfterMinor: 250_000n,
    statusAfter: "in_progress",
    sequence: 2n,
    recordedAt: AS_OF,
    inBalanceMinor: null,
    partOf: null,
    commissionPercent: null,
    ...fields,
  };
}

/** A payment of which only a part was owed. */
function withExcess(amountMinor: bigint, appliedMinor: bigint, fields: Partial<Unwarned> = {}): Unwarned {
  return aBooking({
    amountMinor,
    appliedMinor,
    excessMinor: amountMinor - appliedMinor,
    outstandingAfterMinor: 0n,
    statusAfter: "collected",
    ...fields,
  });
}

function codesOf(booking: Unwarned, facts: Partial<WarningFacts> = {}): string[] {
  const all = { links: [], isLinkPaid: false, includedAsOf: null, amountIsMajorUnits: false, ...facts };
  return bookingWarnings(booking, all).map(({ code }) => code);
}

function inBalance(booking: Unwarned, outstandingAfterMinor: bigint): string[] {
  const included = { ...booking, inBalanceMinor: booking.appliedMinor, outstandingAfterMinor };
  return codesOf(included, { includedAsOf: AS_OF });
}

describe("the amount of a booking", () => {
  test("causes no warning without excess", () => {
    expect(codesOf(aBooking())).toEqual([]);
  });

  test("of 2,500 sent as 250000 on a loan of 5,000 is in minor units", () => {
    const facts = { links: [], isLinkPaid: false, includedAsOf: null, amountIsMajorUnits: false };
    expect(bookingWarnings(withExcess(25_000_000n, 500_000n), facts)).toEqual([
      {
        code: "AMOUNT_ABOVE_OUTSTANDING",
        pointer: "/amount",
        detail: "5000.00 INR of this payment was owed: 245000.00 INR is excess.",
      },
      {
        code: "AMOUNT_LOOKS_LIKE_MINOR_UNITS",
        pointer: "/amount",
        detail:
          "If 2500.00 INR was paid, the amount was sent in minor units: reverse 247500.00 INR of it with the reason " +
          'entered_by_mistake. If the amount is right, "amountIsMajorUnits": true avoids this warning.',
      },
    ]);
  });

  const ABOVE = ["AMOUNT_ABOVE_OUTSTANDING"];
  const BOTH = ["AMOUNT_ABOVE_OUTSTANDING", "AMOUNT_LOOKS_LIKE_MINOR_UNITS"];
  test.each([
    ["a hundredth of which is just what was owed", withExcess(50_000_000n, 500_000n), BOTH],
    ["a hundredth of which is above what was owed", withExcess(50_000_100n, 500_000n), ABOVE],
    ["that is no whole number", withExcess(25_000_050n, 500_000n), ABOVE],
    ["on a case that is collected", withExcess(250_000n, 0n), ABOVE],
    ["in yen", withExcess(500_000n, 5_000n, { currency: currency("JPY") }), ABOVE],
    ["in dinar, a thousandth of which was owed", withExcess(2_500_000n, 5_000n, { currency: currency("KWD") }), BOTH],
    ["in dinar, a hundredth of which was owed", withExcess(500_100n, 5_001n, { currency: currency("KWD") }), ABOVE],
  ])("%s", (...given) => {
    const [, booking, codes] = given;
    expect(codesOf(booking)).toEqual(codes);
  });

  test("with amountIsMajorUnits is only above the outstanding amount", () => {
    expect(codesOf(withExcess(25_000_000n, 500_000n), { amountIsMajorUnits: true })).toEqual(ABOVE);
  });

  test.each([
    ["that the balance includes completely", aBooking(), 500_000n, []],
    ["that a balance of 0 includes completely", aBooking(), 0n, []],
    ["of more than a balance of 0 explains", withExcess(600_000n, 500_000n), 0n, BOTH],
    ["from before the case, in a balance above 0", withExcess(600_000n, 500_000n, { paidAt: BEFORE_THE_CASE }), 1n, []],
    ["from before the case, in a balance of 0", withExcess(600_000n, 500_000n, { paidAt: BEFORE_THE_CASE }), 0n, BOTH],
    ["of 250000 on a known loan of 5,000", withExcess(25_000_000n, 500_000n), 500_000n, BOTH],
  ])("in the balance, %s", (...given) => {
    const [, booking, outstandingAfterMinor, codes] = given;
    expect(inBalance(booking, outstandingAfterMinor)).toEqual(["PAYMENT_IN_BALANCE", ...codes]);
  });
});

describe("the link of a booking", () => {
  const booking = aBooking({ linkId: "plink_77" });
  const link = {
    lenderId: booking.lenderId,
    linkId: "plink_77",
    id: firstIdAt(AFTER_THE_CASE),
    caseId: booking.caseId,
    sourceLoanNumber: "LN-1",
    visitId: firstIdAt(AFTER_THE_CASE),
    fieldPartnerId: firstIdAt(IMPORTED_AT),
    amountMinor: 250_000n,
    currency: INR,
    status: "sent" as const,
    reversedAt: null,
  };

  test("of the same amount causes no warning", () => {
    expect(codesOf(booking, { links: [link] })).toEqual([]);
  });

  test("is not recognised if the service does not know it", () => {
    expect(codesOf(booking)).toEqual(["LINK_NOT_RECOGNISED"]);
  });

  test("of another amount is named with both amounts", () => {
    const links = [{ ...link, amountMinor: 260_000n }];
    const facts = { links, isLinkPaid: false, includedAsOf: null, amountIsMajorUnits: false };
    expect(bookingWarnings(booking, facts)).toEqual([
      {
        code: "AMOUNT_DIFFERS_FROM_LINK",
        pointer: "/amount",
        detail: "The link was made for 2600.00 INR, and the payment is 2500.00 INR.",
      },
    ]);
  });

  test("has the right amount if one link with this linkId has it", () => {
    expect(codesOf(booking, { links: [{ ...link, amountMinor: 1n }, link] })).toEqual([]);
  });

  test("is not compared with an amount in another currency", () => {
    expect(codesOf(booking, { links: [{ ...link, amountMinor: 1n, currency: currency("USD") }] })).toEqual([]);
  });

  test("that is paid already causes a warning", () => {
    expect(codesOf(booking, { links: [link], isLinkPaid: true })).toEqual(["LINK_ALREADY_PAID"]);
  });

  test("does not warn about a part of the payment that has paid it", () => {
    const part = { ...booking, partOf: "pay_1", amountMinor: 100n };
    expect(codesOf(part, { links: [link], isLinkPaid: true })).toEqual([]);
  });
});
