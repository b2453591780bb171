import { isErrorValue, isPlaceholder, readPhoneNumbers, textOfFormula } from "@collections/cases";
import { parsePublicId } from "@collections/database";
import type { Lender } from "@collections/lenders";
import { type CurrencyCode, isCurrency } from "@collections/money";
import { readAmountCell } from "../table-file/amount-cell.ts";
import { cellText, shown, withoutMark } from "../table-file/cell-text.ts";
import { type CellReading, readIdentityCell, readNumberCell, readPhoneCell, readYesCell } from "../table-file/cells.ts";
import type { ColumnReading, Readings } from "../table-file/column-reading.ts";
import type { Column, Columns } from "../table-file/columns.ts";
import { readDayCell, readMomentCell } from "../table-file/day-cell.ts";
import { DECIDING_FIELDS, type Target } from "./case-columns.ts";

/** Rules for reading the cells of a file. */
export interface ReadingRules {
  readonly lender: Pick<Lender, "country" | "currency" | "timeZone" | "balanceCutoff">;
  /** How each column of the file is read. */
  readonly readings: Readings;
  /** The moment of every balance in the file, ISO 8601. A cell with a date and a time overrides it. */
  readonly asOf: string | undefined;
}

/** One fault of a row, or one warning. `column` is in quotation marks, or undefined if the fault is not about one column. */
export interface CellFault {
  readonly column: string | undefined;
  readonly code: string;
  readonly detail: string;
}

type ImportRow = Record<string, unknown>;

/** A line of the file as a row of an import. */
export interface FileRow {
  readonly row: ImportRow;
  readonly faults: readonly CellFault[];
  /** Fields that were left out, because their cells could not be read. */
  readonly warnings: readonly CellFault[];
}

/**
 * Reads a line of the file as a row of an import. An empty cell leaves the field of the case as it is. An unreadable cell
 * is a fault if its field is in DECIDING_FIELDS; otherwise it is a warning.
 */
export function readFileRow(cells: readonly string[], columns: Columns<Target>, rules: ReadingRules): FileRow {
  const row: ImportRow = {};
  const faults: CellFault[] = [];
  const warnings: CellFault[] = [];
  const currency = currencyOf(cells, columns, rules.lender.currency);
  const country = countryOf(cells, columns, rules.lender.country);
  for (const column of columns.used) {
    const { name, index, target } = column;
    const cell = cellText(cells[index]);
    if (cell === "") continue;
    const text = textOfFormula(cell);
    if (text === "" || standsForNothing(text, target)) continue;
    const reading = readCell(text, target, { ...rules, currency, reading: rules.readings.get(index) ?? {} });
    if ("value" in reading && isPhone(target)) placePhones(row, target, reading.value as string, country);
    else if ("value" in reading) place(row, target, reading.value);
    else if (DECIDING_FIELDS.has(target)) {
      faults.push({ column: `"${name}"`, code: codeFor(column), detail: reading.fault });
    } else {
      warnings.push({ column: `"${name}"`, code: "FIELD_NOT_APPLIED", detail: reading.fault });
    }
  }
  if (rules.asOf !== undefined && row["outstandingAmount"] !== undefined) row["outstandingAsOf"] ??= rules.asOf;
  return { row, faults, warnings };
}

/** Fields for which a placeholder is not the same as an empty cell. */
const OWN_PLACEHOLDERS: Readonly<Partial<Record<Target, RegExp | true>>> = {
  // A loan number must be given, and in accounting formats - is an amount of 0.
  sourceLoanNumber: true,
  outstandingAmount: true,
  // People are called Na and Nil.
  borrowerName: /^(?:na|nil|none|nan)$/i,
  // NA is Namibia.
  country: /^na$/i,
  assignTo: /^none$/i,
};

/** Tells whether the text says that there is no value, so that the cell counts as empty. */
function standsForNothing(text: string, target: Target): boolean {
  if (!isPlaceholder(text)) return false;
  const own = OWN_PLACEHOLDERS[target];
  return own === undefined || (own !== true && !own.test(text));
}

interface CellRules extends ReadingRules {
  readonly currency: CurrencyCode;
  readonly reading: ColumnReading;
}

function readCell(text: string, target: Target, { lender, asOf, currency, reading }: CellRules): CellReading<unknown> {
  const { dateOrder = "dmy", decimal, isWhole } = reading;
  switch (target) {
    case "outstandingAmount":
    case "minimumAmount":
    case "emiAmount":
      return readAmountCell(withoutMark(text), currency, decimal);
    case "nextDueDate":
    case "overdueSince":
    case "doNotContactUntil":
      return readDayCell(withoutMark(text), dateOrder, lender.timeZone);
    case "outstandingAsOf":
      return readMomentCell(withoutMark(text), dateOrder, lender, asOf);
    case "dpd":
      return readNumberCell(withoutMark(text));
    case "address.latitude":
      return readDegrees(text, 90);
    case "address.longitude":
      return readDegrees(text, 180);
    case "consent.whatsapp":
    case "consent.email":
      return readYesCell(text);
    case "sourceLoanNumber":
      return readIdentityCell(text, isWhole);
    case "borrowerPhone":
    case "alternatePhones":
      return readPhoneCell(text);
    case "currency":
    case "country":
      return { value: text.toUpperCase() };
    case "assignTo":
      return readAssigneeCell(text);
    case "action":
      return { value: text.toLowerCase() };
    case "tags":
      return { value: text.split(/[,;|]/).flatMap((tag) => (tag.trim() === "" ? [] : [tag.trim()])) };
    default:
      return isErrorValue(text) ? { fault: `${shown(text)} is an error of a spreadsheet.` } : { value: text };
  }
}

function readDegrees(text: string, most: number): CellReading<number> {
  const reading = readNumberCell(withoutMark(text));
  if ("fault" in reading || Math.abs(reading.value) <= most) return reading;
  return { fault: `${shown(text)} is not between -${most} and ${most} degrees.` };
}

/** Reads the id of a field partner, or `none`, which is read as null. */
export function readAssigneeCell(text: string): CellReading<string | null> {
  if (text === "none") return { value: null };
  const id = parsePublicId("fp", text);
  if (id !== undefined) return { value: id };
  return { fault: `Expected the id of a field partner (fp_…) or none, got "${text.slice(0, 40)}".` };
}

function place(row: ImportRow, target: Target, value: unknown): void {
  const [group, part] = splitOnce(target);
  if (target === "alternatePhones") row[target] = [...((row[target] as unknown[] | undefined) ?? []), value];
  else if (part === undefined) row[target] = value;
  else if (group === "address")
    row["addresses"] = [{ ...(row["addresses"] as object[] | undefined)?.[0], [part]: value }];
  else row[group] = { ...(row[group] as object | undefined), [part]: value };
}

function isPhone(target: Target): boolean {
  return target === "borrowerPhone" || target === "alternatePhones";
}

/**
 * Stores the numbers of a cell. Further numbers in the cell of the phone become alternate phones. A cell that is not
 * understood is stored as it is, and the check of the row rejects it.
 */
function placePhones(row: ImportRow, target: Target, cell: string, country: string): void {
  const [first = cell, ...others] = readPhoneNumbers(cell, country) ?? [];
  place(row, target, first);
  for (const other of others) place(row, "alternatePhones", other);
}

function countryOf(cells: readonly string[], columns: Columns<Target>, otherwise: string): string {
  const column = columns.used.find(({ target }) => target === "country");
  return (column && cellText(cells[column.index]).toUpperCase()) || otherwise;
}

function splitOnce(target: string): [group: string, part: string | undefined] {
  const dot = target.indexOf(".");
  return dot === -1 ? [target, undefined] : [target.slice(0, dot), target.slice(dot + 1)];
}

function currencyOf(cells: readonly string[], columns: Columns<Target>, otherwise: CurrencyCode): CurrencyCode {
  const column = columns.used.find(({ target }) => target === "currency");
  const text = column ? cellText(cells[column.index]).toUpperCase() : "";
  return isCurrency(text) ? text : otherwise;
}

function codeFor({ target }: Column<Target>): string {
  if (target === "assignTo") return "FIELD_PARTNER_NOT_FOUND";
  if (target.endsWith("Amount")) return "AMOUNT_OUT_OF_RANGE";
  return /(?:Date|Since|Until|AsOf)$/.test(target) ? "INVALID_DATE" : "WRONG_TYPE";
}
