import type { CaseEarning, Money, Reversal } from "../data/answers.ts";
import { digitsOf } from "./typed-amount.ts";
import { dayOf } from "./dates.ts";

const REASON_WORDS: Readonly<Record<string, string>> = {
  BANK_REVERSED: "was returned by the bank",
  CHARGEBACK: "was charged back by the borrower's bank",
  BOUNCED: "bounced",
  DUPLICATE: "had been recorded twice",
  WRONG_LOAN: "belongs to another loan",
  ENTERED_BY_MISTAKE: "had been recorded by mistake",
};
/** The words for OTHER, and for a reason that this version of the app does not know. */
const OTHER_REASON = "was taken back";

/** Says what was reversed and why: "₹4,000.00 was returned by the bank", or "₹500.00 of ₹4,000.00 bounced". */
export function returnedWords({ amount, payment, reason }: Pick<Reversal, "amount" | "payment" | "reason">): string {
  const isWhole = amount.minor === payment.minor;
  return `${isWhole ? amount.display : `${amount.display} of ${payment.display}`} ${REASON_WORDS[reason] ?? OTHER_REASON}`;
}

/**
 * Says what a reversal means for the field partner's own money, in sentences. `earnings` are all earnings of the case.
 * Returns an empty text if the reversal changed no earning.
 */
export function consequenceWords(reversal: Reversal, earnings: readonly CaseEarning[]): string {
  const { reversalReference, reference } = reversal;
  const changed = earnings.filter((line) => line.reversal?.reversalReference === reversalReference);
  const ofPayment = (line: CaseEarning) => line.reference === reference;
  const wasPaidOut = earnings.some((line) => ofPayment(line) && line.status === "PAID_OUT" && !isBelowZero(line));
  const ended = changed.filter(({ status }) => status === "REVERSED");
  const less = changed.filter((line) => line.status !== "REVERSED" && isBelowZero(line));
  const more = changed.filter((line) => line.status !== "REVERSED" && !isBelowZero(line));
  return [
    ...sentence(ended, (sum) => `You no longer earn ${sum} for it.`),
    ...less.flatMap((line) => sentence([line], (sum) => lessWords(line, sum, wasPaidOut))),
    ...sentence(more, (sum) => `You earn ${sum} more for another payment.`),
  ].join(" ");
}

function lessWords({ status, payout }: CaseEarning, sum: string, wasPaidOut: boolean): string {
  if (status === "PAID_OUT")
    return `${sum} was deducted from your payout${payout ? ` of ${dayOf(payout.paidOn)}` : ""}.`;
  return wasPaidOut ? `${sum} will be deducted from your next payout.` : `You earn ${sum} less for it.`;
}

function sentence(lines: readonly CaseEarning[], words: (sum: string) => string): string[] {
  const minor = lines.reduce((sum, { amount }) => sum + BigInt(amount.minor), 0n);
  return minor === 0n ? [] : [words(withoutSign(minor, lines[0]!.amount))];
}

/** Returns whether the line takes an earning back. */
export function isBelowZero({ amount }: { readonly amount: Pick<Money, "minor"> }): boolean {
  return amount.minor.startsWith("-");
}

/** Formats an amount without its sign, with the currency and the decimals of `like`. */
function withoutSign(minor: bigint, like: Money): string {
  const { currency } = like;
  const digits = digitsOf(like);
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, "0");
  const whole = text.slice(0, text.length - digits);
  const plain = digits === 0 ? text : `${whole}.${text.slice(-digits)}`;
  const decimals = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const format = new Intl.NumberFormat(navigator.language, { style: "currency", currency, ...decimals });
  return format.format(plain as Intl.StringNumericLiteral);
}
