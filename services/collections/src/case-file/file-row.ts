import { parsePublicId } from "@collections/database";
import type { Lender } from "@collections/lenders";
import { type CurrencyCode, isCurrency } from "@collections/money";
import {
  type CellReading,
  type DateOrder,
  readAmountCell,
  readDayCell,
  readDigitsCell,
  readMomentCell,
  readNumberCell,
  readYesCell,
} from "./cells.ts";
import type { Column, Columns } from "./columns.ts";
import type { Target } from "./column-names.ts";

/** Rules for reading the cells of a file. */
export interface ReadingRules {
  readonly lender: Pick<Lender, "currency" | "timeZone" | "balanceCutoff">;
  readonly dateOrder: DateOrder;
  /** The moment of every balance in the file, ISO 8601. A cell with a date and a time overrides it. */
  readonly asOf: string | undefined;
}

/** One fault of a row. `column` is in quotation marks, or undefined if the fault is not about one column. */
export interface CellFault {
  readonly column: string | undefined;
  readonly code: string;
  readonly detail: string;
}

type ImportRow = Record<string, unknown>;

/** Reads a line of the file as a row of an import. If a cell is empty, the field of the case keeps its value. */
export function readFileRow(
  cells: readonly string[],
  columns: Columns,
  rules: ReadingRules,
): { readonly row: ImportRow; readonly faults: readonly CellFault[] } {
  const row: ImportRow = {};
  const faults: CellFault[] = [];
  const currency = currencyOf(cells, columns, rules.lender.currency);
  for (const column of columns.used) {
    const text = cellText(cells[column.index]);
    if (text === "") continue;
    const reading = readCell(text, column.target, { ...rules, currency });
    if ("fault" in reading) faults.push({ column: `"${column.name}"`, code: codeFor(column), detail: reading.fault });
    else place(row, column.target, reading.value);
  }
  if (rules.asOf !== undefined && row["outstandingAmount"] !== undefined) row["outstandingAsOf"] ??= rules.asOf;
  return { row, faults };
}

/** Removes blanks at both ends of the text. Invisible and non-breaking spaces count as blanks. */
export function cellText(cell: string | undefined): string {
  return (cell ?? "").replaceAll(/[\u00A0\u200B\uFEFF]/g, " ").trim();
}

function readCell(
  text: string,
  target: Target,
  { lender, dateOrder, asOf, currency }: ReadingRules & { currency: CurrencyCode },
): CellReading<unknown> {
  switch (target) {
    case "outstandingAmount":
    case "minimumAmount":
    case "emiAmount":
      return readAmountCell(text, currency);
    case "nextDueDate":
    case "overdueSince":
    case "doNotContactUntil":
      return readDayCell(text, dateOrder);
    case "outstandingAsOf":
      return readMomentCell(text, dateOrder, lender, asOf);
    case "dpd":
    case "address.latitude":
    case "address.longitude":
      return readNumberCell(text);
    case "consent.whatsapp":
    case "consent.email":
      return readYesCell(text);
    case "sourceLoanNumber":
      return readDigitsCell(text);
    case "borrowerPhone":
    case "alternatePhones":
      return readDigitsCell(text.replace(/\.0+$/, ""));
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
      return { value: text };
  }
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

function splitOnce(target: string): [group: string, part: string | undefined] {
  const dot = target.indexOf(".");
  return dot === -1 ? [target, undefined] : [target.slice(0, dot), target.slice(dot + 1)];
}

function currencyOf(cells: readonly string[], columns: Columns, otherwise: CurrencyCode): CurrencyCode {
  const column = columns.used.find(({ target }) => target === "currency");
  const text = column ? cellText(cells[column.index]).toUpperCase() : "";
  return isCurrency(text) ? text : otherwise;
}

function codeFor({ target }: Column): string {
  if (target === "assignTo") return "FIELD_PARTNER_NOT_FOUND";
  if (target.endsWith("Amount")) return "AMOUNT_OUT_OF_RANGE";
  return /(?:Date|Since|Until|AsOf)$/.test(target) ? "INVALID_DATE" : "WRONG_TYPE";
}
