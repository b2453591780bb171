import type { CaseEarning, Money, Reversal } from "../data/answers.ts";
import { texts } from "../language/current.ts";
import { dayOf, money, moneyWith } from "../language/formats.ts";

/** Says what was reversed and why: "₹4,000.00 was returned by the bank.", or "₹500.00 of ₹4,000.00 bounced." */
export function returnedWords({ amount, payment, reason }: Pick<Reversal, "amount" | "payment" | "reason">): string {
  const { whole, part } = texts().reversal;
  const isWhole = amount.minor === payment.minor;
  // A later version of the service may have a reason that this version of the app does not know.
  const words = Object.hasOwn(whole, reason) ? whole[reason as keyof typeof whole] : whole.OTHER;
  return words(isWhole ? money(amount) : part(money(amount), money(payment)));
}

/**
 * Says what a reversal means for the field partner's own money, in sentences. `earnings` are all earnings of the case.
 * Returns an empty text if the reversal changed no earning.
 */
export function consequenceWords(reversal: Reversal, earnings: readonly CaseEarning[]): string {
  const { noLongerEarned, earnMore } = texts().reversal;
  const { reversalReference, reference } = reversal;
  const changed = earnings.filter((line) => line.reversal?.reversalReference === reversalReference);
  const ofPayment = (line: CaseEarning) => line.reference === reference;
  const wasPaidOut = earnings.some((line) => ofPayment(line) && line.status === "PAID_OUT" && !isBelowZero(line));
  const ended = changed.filter(({ status }) => status === "REVERSED");
  const less = changed.filter((line) => line.status !== "REVERSED" && isBelowZero(line));
  const more = changed.filter((line) => line.status !== "REVERSED" && !isBelowZero(line));
  return [
    ...sentence(ended, noLongerEarned),
    ...less.flatMap((line) => sentence([line], (sum) => lessWords(line, sum, wasPaidOut))),
    ...sentence(more, earnMore),
  ].join(" ");
}

function lessWords({ status, payout }: CaseEarning, sum: string, wasPaidOut: boolean): string {
  const { fromPayout, fromPayoutOf, nextPayout, earnLess } = texts().reversal;
  if (status === "PAID_OUT") return payout ? fromPayoutOf(sum, dayOf(payout.paidOn)) : fromPayout(sum);
  return wasPaidOut ? nextPayout(sum) : earnLess(sum);
}

function sentence(lines: readonly CaseEarning[], words: (sum: string) => string): string[] {
  const minor = lines.reduce((sum, { amount }) => sum + BigInt(amount.minor), 0n);
  return minor === 0n ? [] : [words(money(moneyWith(String(minor < 0n ? -minor : minor), lines[0]!.amount)))];
}

/** Returns whether the line takes an earning back. */
export function isBelowZero({ amount }: { readonly amount: Pick<Money, "minor"> }): boolean {
  return amount.minor.startsWith("-");
}
