import { grouped } from "@collections/money";

const counts = new Intl.NumberFormat("en");

/** Returns a number with groups of digits. */
export function countText(count: number): string {
  return counts.format(count);
}

/** Returns amounts with their currencies. Rupees are grouped as in India. */
export function amountsText(amounts: readonly { readonly amount: string; readonly currency: string }[]): string {
  return amounts.map(({ amount, currency }) => `${grouped(amount, currency)} ${currency}`).join(" + ");
}

/** Returns a number of payments or reversals, and their sums. */
export function sumText({
  count,
  amounts,
}: {
  readonly count: number;
  readonly amounts: readonly { readonly amount: string; readonly currency: string }[];
}): string {
  return amounts.length === 0 ? countText(count) : `${countText(count)} (${amountsText(amounts)})`;
}

/** The names that are written in another way than in small letters. */
const NAMES = /\b(?:imps|nach|neft|rtgs|sms|upi|url)\b/g;

/** Returns the name of a kind, a state or a list as words: `NOT_AT_HOME` becomes `Not at home`, and `onlyYours` `Only yours`. */
export function words(name: string): string {
  const text = name
    .replaceAll("_", " ")
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toLowerCase();
  return capitalized(text.replaceAll(NAMES, (one) => one.toUpperCase()));
}

/** Returns a text whose first letter is a capital. The other letters stay as they are. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns an ISO 8601 time in UTC as people write it: 2026-11-29 14:46:01 UTC. */
export function utcText(at: string): string {
  return `${at.slice(0, 19).replace("T", " ")} UTC`;
}

const months = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

/** Returns a month `YYYY-MM` as people write it: November 2026. */
export function monthText(month: string): string {
  return months.format(new Date(`${month}-01T00:00:00Z`));
}

const days = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });

/** Returns a day `YYYY-MM-DD` as people write it: Sun 29 Nov. */
export function dayText(day: string): string {
  return days.format(new Date(`${day}T00:00:00Z`));
}
