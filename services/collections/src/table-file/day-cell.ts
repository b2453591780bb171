import type { Lender } from "@collections/lenders";
import { dayIn, instantOf, timeIn } from "@collections/local-time";
import { shown } from "./cell-text.ts";
import type { CellReading } from "./cells.ts";

/** Whether 05/12 is the 5th of December or May 12th. */
export type DateOrder = "dmy" | "mdy";

/** A day as it is read in each order, `YYYY-MM-DD`. A reading is undefined if the calendar has no such day. */
export interface DayForms {
  readonly dmy: string | undefined;
  readonly mdy: string | undefined;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/** The first year of two digits that is read as a year of the 20th century: 80 is 1980, but 79 is 2079. */
const FIRST_YEAR_OF_LAST_CENTURY = 80;

const ISO_DAY = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/;
const BASIC_DAY = /^((?:19|20)\d{2})(\d{2})(\d{2})$/;
const NUMERIC_DAY = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})$/;
const NAMED_DAY = /^(\d{1,2})(?:st|nd|rd|th)?[-/. ]?([a-z]{3,9})\.?[-/., ]{0,2}(\d{4}|\d{2})$/i;
const MONTH_FIRST = /^([a-z]{3,9})\.?[- ]?(\d{1,2})(?:st|nd|rd|th)?[-, ]{1,2}(\d{4}|\d{2})$/i;
const DAY_AND_TIME = /^(.*\d)[ ,T]+(\d{1,2})([:.])(\d{2})(?:\3(\d{2})(?:[.,]\d+)?)? ?([ap]\.?m\.?)?$/i;
/** The time of DB2 (2026-11-27-06.30.00) and of ISO 8601 without punctuation (20261127T063000). */
const DB2_TIME = /^(\d{4}-\d{2}-\d{2})-(\d{2})(\.)(\d{2})\.(\d{2})(?:\.\d+)?$/;
const BASIC_TIME = /^((?:19|20)\d{6})[ T]?(\d{2})()(\d{2})(\d{2})$/;
/** A time with a zone, as databases write it: 2026-11-27 06:30:00+00, 2026-11-27T06:30:00.5Z, 20261127T063000Z. */
const ZONED =
  /^(\d{4})-?(\d{2})-?(\d{2})[ T](\d{2}):?(\d{2})(?::?(\d{2}(?:[.,]\d+)?))? ?(?:(z|utc|gmt)|([+-]\d{2}):?(\d{2})?(?: utc| gmt)?)$/i;
const MIDNIGHT = /^0{1,2}:00(?::00)?$/;

/** Reads a day, or the day of a moment, in both orders. A time with a zone is on a day of the lender's time zone. */
export function dayForms(text: string, timeZone: string): DayForms {
  const numeric = NUMERIC_DAY.exec(text);
  if (numeric) return formsOf(numeric);
  const zoned = zonedInstant(text);
  if (zoned) {
    const day = dayIn(timeZone, zoned);
    return { dmy: day, mdy: day };
  }
  const { day } = partsOfMoment(text);
  return day === text ? formsOf(null, text) : dayForms(day, timeZone);
}

function formsOf(numeric: RegExpExecArray | null, text = ""): DayForms {
  if (numeric) {
    const [first, second, year] = [Number(numeric[1]), Number(numeric[3]), yearOf(numeric[4]!)];
    return { dmy: dayText([year, second, first]), mdy: dayText([year, first, second]) };
  }
  const parts = partsOf(text, "dmy");
  const day = parts && dayText(parts);
  return { dmy: day, mdy: day };
}

/** Reads a day in the forms that people and exports use: 05/12/2026, 5-Dec-26, 2026-12-05. Returns `YYYY-MM-DD`. */
export function readDayCell(text: string, order: DateOrder, timeZone = "UTC"): CellReading<string> {
  const day = withoutMidnight(text, timeZone);
  const parts = partsOf(day, order);
  if (parts === undefined) {
    const isSerial = /^\d{5}(?:\.\d+)?$/.test(day);
    const hint = isSerial
      ? "It may be a date that the spreadsheet exported as a number: format the column as a date. "
      : "";
    return { fault: `${shown(text)} is not a day. ${hint}Write it as 05/12/2026, 05-Dec-2026 or 2026-12-05.` };
  }
  const value = dayText(parts);
  if (value !== undefined) return { value };
  const read = order === "dmy" ? "the day first; for the month first, use --date-order mdy" : "the month first";
  const hint = NUMERIC_DAY.test(day) ? ` It was read with ${read}.` : "";
  return { fault: `${shown(text)} is not in the calendar.${hint}` };
}

/** Removes the time of midnight, which exports of databases add to a day. */
function withoutMidnight(text: string, timeZone: string): string {
  const day = text.replace(/[ T]0{1,2}:00(?::00(?:\.0+)?)?(?: ?am)?$/i, "");
  if (day !== text || text.length < 14) return day;
  const zoned = zonedInstant(text);
  if (!zoned) return text;
  if (/[ T]00:?00(?::?00(?:[.,]0+)?)? ?(?:z|[a-z+-])/i.test(text)) return text.slice(0, text[4] === "-" ? 10 : 8);
  const [localDay = text, time = ""] = timeIn(timeZone, zoned).split(" ");
  return MIDNIGHT.test(time) ? localDay : text;
}

/** Tells whether a cell has a time of day. */
export function hasTimeOfDay(text: string): boolean {
  return ZONED.test(text) || partsOfMoment(text).day !== text;
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
  const zoned = zonedInstant(text);
  if (zoned) return { value: zoned.toISOString() };
  const { day: dayPart, hours, minutes, seconds = "00", half } = partsOfMoment(text);
  const day = readDayCell(dayPart, order, timeZone);
  if ("fault" in day) return day;
  if (hours === undefined || minutes === undefined) {
    if (asOf !== undefined) return onSameDay(text, day.value, { asOf, timeZone });
    if (balanceCutoff !== null) return { value: instantOf(day.value, balanceCutoff, timeZone).toISOString() };
    const why = "has no time of day, and payments of that day may be in the balance or not";
    const instead = "give the time of the file's balances with --as-of, or register the lender's --balance-cutoff";
    return { fault: `${shown(text)} ${why}. Write ${text} 18:00, or ${instead}.` };
  }
  const isAfternoon = half?.toLowerCase().startsWith("p") ?? false;
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (isAfternoon ? 12 : 0);
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

interface MomentParts {
  /** The text of the day. It is the whole text if there is no time. */
  readonly day: string;
  readonly hours?: string | undefined;
  readonly minutes?: string | undefined;
  readonly seconds?: string | undefined;
  /** am or pm. */
  readonly half?: string | undefined;
}

function partsOfMoment(text: string): MomentParts {
  const match = DAY_AND_TIME.exec(text) ?? DB2_TIME.exec(text) ?? BASIC_TIME.exec(text);
  if (match === null) return { day: text };
  const [, day = "", hours, , minutes, seconds, half] = match;
  return { day, hours, minutes, seconds, half };
}

/** Returns the instant of a time with a zone; undefined for any other text. */
function zonedInstant(text: string): Date | undefined {
  if (text.length < 14) return undefined;
  const match = ZONED.exec(text);
  if (match === null) return undefined;
  const [, year, month, date, hours, minutes, seconds = "00", , zoneHours, zoneMinutes = "00"] = match;
  if (dayText([Number(year), Number(month), Number(date)]) === undefined) return undefined;
  const zone = zoneHours === undefined ? "Z" : `${zoneHours}:${zoneMinutes}`;
  const instant = new Date(`${year}-${month}-${date}T${hours}:${minutes}:${seconds.replace(",", ".")}${zone}`);
  return Number.isNaN(instant.getTime()) ? undefined : instant;
}

type DayParts = readonly [year: number, month: number, date: number];

function partsOf(day: string, order: DateOrder): DayParts | undefined {
  const iso = ISO_DAY.exec(day) ?? BASIC_DAY.exec(day);
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

/** Returns `YYYY-MM-DD`, or undefined if the calendar has no such day. */
function dayText([year, month, date]: DayParts): string | undefined {
  if (month < 1 || month > 12 || date < 1 || date > 31) return undefined;
  if (date > 28 && new Date(Date.UTC(year, month - 1, date)).getUTCDate() !== date) return undefined;
  return `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}-${String(date).padStart(2, "0")}`;
}
