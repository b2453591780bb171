import { quotedStart } from "./row-fault.ts";

/** The result of reading a text: the instant, or the fault of the text with a sentence for the sender. */
export type InstantReading =
  | { readonly instant: Date }
  | { readonly fault: "INVALID_DATE" | "NOT_UTC"; readonly detail: string };

const INSTANT = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)([Zz]|[+-]\d{2}:?\d{2})?$/;
const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
const FIRST_YEAR = 1900;
const LAST_YEAR = 2199;

/**
 * Reads an ISO 8601 time with `Z` or an offset. A time without either is ambiguous, so it gets the fault NOT_UTC.
 *
 * @example
 * const reading = readInstant("2026-11-20T15:11:07+05:30");
 * if ("fault" in reading) throw new Error(reading.detail);
 * const paidAt = reading.instant;
 */
export function readInstant(text: string): InstantReading {
  const match = INSTANT.exec(text);
  const [, day = "", time = "", zone] = match ?? [];
  if (match === null || !isDay(day)) return invalid(text);
  if (zone === undefined) {
    return { fault: "NOT_UTC", detail: `Expected an instant with Z or an offset; "${text}" has neither.` };
  }
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  const instant = new Date(`${day}T${time}${offset}`);
  return Number.isNaN(instant.getTime()) ? invalid(text) : { instant };
}

/**
 * Tells whether the text is a calendar day, `YYYY-MM-DD`, between 1900 and 2199.
 *
 * @example
 * isDay("2026-02-28"); // true
 * isDay("2026-02-30"); // false
 */
export function isDay(text: string): boolean {
  const match = DAY.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  if (year < FIRST_YEAR || year > LAST_YEAR) return false;
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function invalid(text: string): InstantReading {
  return {
    fault: "INVALID_DATE",
    detail: `Expected an instant such as 2026-11-20T09:41:07Z; got ${quotedStart(text)}.`,
  };
}
