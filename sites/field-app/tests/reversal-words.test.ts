import { describe, expect, test } from "vitest";
import type { CaseEarning, EarningStatus, Money, Reversal } from "../src/phone/data/answers.ts";
import { consequenceWords, returnedWords } from "../src/phone/ui/reversal-words.ts";

/** The app leaves the year of a day out if it is the present year. */
const THIS_YEAR = new Date().getFullYear();

/** Returns an amount of paise as the service shows it. */
function rupees(minor: number): Money {
  return { minor: String(minor), currency: "INR", decimal: (minor / 100).toFixed(2) };
}

function returned(amount: number, payment: number, reason: string): Reversal {
  const of = { reversalReference: "RV-1", reference: "A", reversedAt: "2026-11-24T10:00:00Z" };
  return { ...of, amount: rupees(amount), payment: rupees(payment), reason };
}

const CALCULATION = { percent: "2.5", base: rupees(0), baseBefore: null };

/** Returns an earning on the payment A that the reversal RV-1 has changed, unless `more` says otherwise. */
function line(minor: number, status: EarningStatus, more: Partial<CaseEarning> = {}): CaseEarning {
  const changed = { reference: "A", reversal: { reversalReference: "RV-1" }, payout: null };
  return { amount: rupees(minor), status, calculation: CALCULATION, ...changed, ...more };
}

describe("the app says what was reversed and why:", () => {
  test.each([
    ["BANK_REVERSED", 400_000, "₹4,000.00 was returned by the bank."],
    ["CHARGEBACK", 400_000, "₹4,000.00 was charged back by the borrower’s bank."],
    ["BOUNCED", 50_000, "₹500.00 of ₹4,000.00 bounced."],
    ["DUPLICATE", 400_000, "₹4,000.00 had been recorded twice."],
    ["WRONG_LOAN", 400_000, "₹4,000.00 belongs to another loan."],
    ["ENTERED_BY_MISTAKE", 400_000, "₹4,000.00 had been recorded by mistake."],
    ["OTHER", 400_000, "₹4,000.00 was taken back."],
    ["A_REASON_OF_A_LATER_VERSION", 400_000, "₹4,000.00 was taken back."],
  ])("%s of %d paise", (reason, amount, words) => {
    expect(returnedWords(returned(amount, 400_000, reason))).toBe(words);
  });
});

describe("the app says what a reversal means for the field partner's money:", () => {
  const reversal = returned(400_000, 400_000, "BOUNCED");
  const untouched = { reversal: null };
  const paidOut = line(10_000, "PAID_OUT", untouched);
  test.each<[string, CaseEarning[], string]>([
    ["nothing, if no earning has changed", [paidOut], ""],
    ["an earning that was not paid out ends", [line(10_000, "REVERSED")], "You no longer earn ₹100.00 for it."],
    [
      "an earning ends of which a part had been taken back before",
      [line(10_000, "REVERSED"), line(-4_000, "REVERSED")],
      "You no longer earn ₹60.00 for it.",
    ],
    [
      "a pending earning becomes lower",
      [line(10_000, "PENDING", untouched), line(-4_000, "PENDING")],
      "You earn ₹40.00 less for it.",
    ],
    [
      "a credited earning that was not paid out becomes lower",
      [line(10_000, "CREDITED", untouched), line(-4_000, "CREDITED")],
      "You earn ₹40.00 less for it.",
    ],
    [
      "a paid-out earning is deducted from the next payout",
      [paidOut, line(-10_000, "CREDITED")],
      "₹100.00 will be deducted from your next payout.",
    ],
    [
      "a paid-out earning was deducted",
      [paidOut, line(-10_000, "PAID_OUT", { payout: { paidOn: `${THIS_YEAR}-11-28` } })],
      "₹100.00 was deducted from your payout of Nov 28.",
    ],
    [
      "the excess of another payment counts now",
      [line(10_000, "REVERSED"), line(7_550, "PENDING", { reference: "B" })],
      "You no longer earn ₹100.00 for it. You earn ₹75.50 more for another payment.",
    ],
    [
      "the lines of another reversal do not count",
      [line(10_000, "REVERSED", { reversal: { reversalReference: "RV-2" } })],
      "",
    ],
  ])("%s", (_, earnings, words) => {
    expect(consequenceWords(reversal, earnings)).toBe(words);
  });

  test("an answer that an earlier version of the app has stored, without the new fields, changes nothing", () => {
    expect(consequenceWords(reversal, [{ amount: rupees(10_000), status: "CREDITED", calculation: CALCULATION }])).toBe(
      "",
    );
  });
});
