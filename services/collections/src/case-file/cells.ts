import type { Lender } from "@collections/lenders";
import { dayIn, instantOf } from "@collections/local-time";
import { AmountLiteral, type CurrencyCode } from "@collections/money";

/** The value of a cell, or a sentence that says what is wrong with the cell. */
export type CellReading<Value> = { readonly value: Value } | { readonly fault: string };

/** Whether 05/12 is the 5th of December or May 12th. */
export type DateOrder = "dmy" | "mdy";

const PLAIN = /^\d+(?:\.\d+)?$/;
/** Accepts 1,23,456.50 and 123,456.50. The last group must have three digits, so that 1,23 is not read as 123. */
const GROUPED = /^\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?$/;
const SHORTENED = /^[+-]?\d(?:\.\d+)?e\+?\d+$/i;
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/** The first year of two digits that is read as a year of the 20th century: 80 is 1980, but 79 is 2079. */
const FIRST_YEAR_OF_LAST_CENTURY = 80;

const ISO_DAY = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/;
const NUMERIC_DAY = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})$/;
const NAMED_DAY = /^(\d{1,2})(?:st|nd|rd|th)?[-/. ]?([a-z]{3,9})\.?[-/., ]{0,2}(\d{4}|\d{2})$/i;
const MONTH_FIRST = /^([a-z]{3,9})\.?[- ]?(\d{1,2})(?:st|nd|rd|th)?[-, ]{1,2}(\d{4}|\d{2})$/i;
const DAY_AND_TIME = /^(.*\d)[ ,T]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)? ?([ap]m)?$/i;
const WITH_ZONE = /(?:z|[+-]\d{2}:?\d{2})$/i;

/** Reads an amount in major units, in the forms that people and exports use: ₹1,23,456.50, Rs. 5000/-, 5000.00. */
export function readAmountCell(text: string, currency: CurrencyCode): CellReading<AmountLiteral> {
  const symbol = currency === "INR" ? /^(?:₹|rs\.?|inr)\s*/i : new RegExp(String.raw`^${currency}\s*`, "i");
  const number = text.replace(symbol, "").replace(/\s*\/-$/, "");
  if (PLAIN.test(number) || GROUPED.test(number)) {
    return { value: new AmountLiteral(number.replaceAll(",", "").replace(/^0+(?=\d)/, "")) };
  }
  if (/^-|^\(.*\)$/.test(number)) return { fault: `${shown(text)} is below 0; an amount is 0 or more.` };
  if (SHORTENED.test(number)) return { fault: shortened(text) };
  if (/^\d{1,3}(?:\.\d{3})*,\d{1,2}$/.test(number)) {
    return { fault: `${shown(text)} has a comma before its decimals; write 1234.50 or 1,234.50.` };
  }
  return { fault: `${shown(text)} is not an amount; write it as 123456.50 or 1,23,456.50.` };
}

/**
 * Reads a day in the forms that people and exports use: 05/12/2026, 5-Dec-26, 2026-12-05. The value is `YYYY-MM-DD`.
 */
export function readDayCell(text: string, order: DateOrder): CellReading<string> {
  // Remove the time of midnight, which database exports add to a day.
  const day = text.replace(/[ T]0{1,2}:00(?::00(?:\.0+)?)?(?: ?am)?$/i, "");
  const parts = partsOf(day, order);
  if (parts === undefined) {
    const isSerial = /^\d{5}(?:\.\d+)?$/.test(day);
    const hint = isSerial
      ? "It may be a date that the spreadsheet exported as a number: format the column as a date. "
      : "";
    return { fault: `${shown(text)} is not a day. ${hint}Write it as 05/12/2026, 05-Dec-2026 or 2026-12-05.` };
  }
  const [year, month, date] = parts;
  const moment = new Date(Date.UTC(year, month - 1, date));
  if (month < 1 || month > 12 || moment.getUTCMonth() !== month - 1 || moment.getUTCDate() !== date) {
    const read = order === "dmy" ? "the day first; for the month first, use --date-order mdy" : "the month first";
    const hint = NUMERIC_DAY.test(day) ? ` It was read with ${read}.` : "";
    return { fault: `${shown(text)} is not in the calendar.${hint}` };
  }
  return { value: moment.toISOString().slice(0, 10) };
}

/**
 * Reads the moment of a balance, up to which captured payments are included in the balance. Text without a time zone is
 * in the lender's local time. A day without a time does not say which payments of that day are included. Such a day is
 * therefore read as `asOf` (the moment of the whole file), which must be on the same local day. Without `asOf` it is
 * read as the lender's balance cut-off on that day.
 */
export function readMomentCell(
  text: string,
  order: DateOrder,
  { timeZone, balanceCutoff }: Pick<Lender, "timeZone" | "balanceCutoff">,
  asOf?: string,
): CellReading<string> {
  if (/^\d{4}-\d{2}-\d{2}[ T]\d/.test(text) && WITH_ZONE.test(text)) return { value: text };
  const match = DAY_AND_TIME.exec(text);
  if (match === null) {
    const day = readDayCell(text, order);
    if ("fault" in day) return day;
    if (asOf !== undefined) return onSameDay(text, day.value, { asOf, timeZone });
    if (balanceCutoff !== null) return { value: instantOf(day.value, balanceCutoff, timeZone).toISOString() };
    const why = "has no time of day, and payments of that day may be in the balance or not";
    const instead = "give the time of the file's balances with --as-of, or register the lender's --balance-cutoff";
    return { fault: `${shown(text)} ${why}. Write ${text} 18:00, or ${instead}.` };
  }
  const [, dayText = "", hours = "", minutes = "", seconds = "00", half] = match;
  const day = readDayCell(dayText, order);
  if ("fault" in day) return day;
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (half.toLowerCase() === "pm" ? 12 : 0);
  if (hour > 23 || Number(minutes) > 59 || Number(seconds) > 59 || (half !== undefined && Number(hours) > 12)) {
    return { fault: `${shown(text)} is not a time of day.` };
  }
  const time = `${String(hour).padStart(2, "0")}:${minutes}:${seconds}`;
  return { value: instantOf(day.value, time, timeZone).toISOString() };
}

/** Returns `asOf` if it is on this local day. A file of another day would count as newer or older than it is. */
function onSameDay(
  text: string,
  day: string,
  { asOf, timeZone }: { readonly asOf: string; readonly timeZone: string },
): CellReading<string> {
  const given = dayIn(timeZone, new Date(asOf));
  if (given === day) return { value: asOf };
  const instead = `Give the time of this day with --as-of, or write ${text} 18:00`;
  return { fault: `${shown(text)} is ${day}, but --as-of is on ${given}. ${instead}.` };
}

/** Reads yes or no. */
export function readYesCell(text: string): CellReading<boolean> {
  if (/^(?:y|yes|true|1)$/i.test(text)) return { value: true };
  if (/^(?:n|no|false|0)$/i.test(text)) return { value: false };
  return { fault: `${shown(text)} is neither yes nor no; write Y or N.` };
}

/** Reads a number such as 45 or 18.52. */
export function readNumberCell(text: string): CellReading<number> {
  return /^-?\d+(?:\.\d+)?$/.test(text) ? { value: Number(text) } : { fault: `${shown(text)} is not a number.` };
}

/** Reads a loan or telephone number. Rejects a number such as 9.8E+9, in which a spreadsheet has lost digits. */
export function readDigitsCell(text: string): CellReading<string> {
  return SHORTENED.test(text) ? { fault: shortened(text) } : { value: text };
}

function partsOf(day: string, order: DateOrder): [year: number, month: number, date: number] | undefined {
  const iso = ISO_DAY.exec(day);
  if (iso) return [Number(iso[1]), Number(iso[2]), Number(iso[3])];
  const numeric = NUMERIC_DAY.exec(day);
  if (numeric) {
    const [first, second] = [Number(numeric[1]), Number(numeric[3])];
    return order === "dmy" ? [yearOf(numeric[4]!), second, first] : [yearOf(numeric[4]!), first, second];
  }
  const named = NAMED_DAY.exec(day);
  const monthFirst = named ? null : MONTH_FIRST.exec(day);
  const [date, name, year] = named ? named.slice(1) : [monthFirst?.[2], monthFirst?.[1], monthFirst?.[3]];
  const month = MONTHS.indexOf((name ?? "").slice(0, 3).toLowerCase()) + 1;
  return month === 0 ? undefined : [yearOf(year!), month, Number(date)];
}

function yearOf(digits: string): number {
  if (digits.length === 4) return Number(digits);
  return Number(digits) + (Number(digits) < FIRST_YEAR_OF_LAST_CENTURY ? 2000 : 1900);
}

function shortened(text: string): string {
  return `${shown(text)} has lost digits in a spreadsheet: format the column as text and export it again.`;
}

/** Returns the beginning of a cell in quotation marks, for a message. An emoji that is cut in half becomes U+FFFD. */
export function shown(text: string): string {
  return `"${text.slice(0, 40).toWellFormed()}"`;
}
