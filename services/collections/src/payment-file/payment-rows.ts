import { isPlaceholder, textOfFormula } from "@collections/cases";
import { type CheckedPaymentRow, checkPaymentRow, paymentMode } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { dayIn, instantOf } from "@collections/local-time";
import { readAmountCell } from "../table-file/amount-cell.ts";
import { cellText, shown, withoutMark } from "../table-file/cell-text.ts";
import { type CellReading, readIdentityCell } from "../table-file/cells.ts";
import type { ColumnReading, Readings } from "../table-file/column-reading.ts";
import type { Columns } from "../table-file/columns.ts";
import type { FileRecord } from "../table-file/csv-records.ts";
import { hasTimeOfDay, readDayCell, readMomentCell } from "../table-file/day-cell.ts";
import { type ReadFile, rowsOf } from "../table-file/table-file.ts";
import type { PaymentField } from "./payment-columns.ts";

/** The columns of a file of payments, and the rules for reading its cells. */
export interface PaymentReading {
  readonly columns: Columns<PaymentField>;
  readonly lender: Pick<Lender, "currency" | "timeZone">;
  /** How each column of the file is read. */
  readonly readings: Readings;
  /** The local time `HH:MM` of payments whose cell has only a date. Without it, such a cell is a fault. */
  readonly paidTime: string | undefined;
  /** Each time in the column `paidAt` is midnight, see `inspectPayments`. Then its cells are read as dates. */
  readonly hasOnlyDates?: boolean;
}

/** Fields of which a placeholder such as `-` means that the cell is empty. */
const OPTIONAL: ReadonlySet<PaymentField> = new Set<PaymentField>(["paidAt", "mode"]);
const ROWS_A_PAGE = 2_000;

/**
 * Yields the rows of a file in pages. The position of a row is its line. Only a page is in memory at a time.
 */
export async function* paymentRowsOf(file: ReadFile, reading: PaymentReading): AsyncGenerator<CheckedPaymentRow[]> {
  let page: CheckedPaymentRow[] = [];
  for await (const record of rowsOf(file)) {
    page.push(readPaymentRow(record, reading));
    if (page.length < ROWS_A_PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** Reads one line of a file. Texts without a time zone are in the lender's local time. */
export function readPaymentRow({ line, cells }: FileRecord, reading: PaymentReading): CheckedPaymentRow {
  const { header, used } = reading.columns;
  const unreadable: { code: string; pointer: string; detail: string }[] = [];
  const beyond = cells.slice(header.length).some((cell) => cellText(cell) !== "");
  if (beyond || cells.length < header.length) {
    const detail = `The line has ${cells.length} cells where the header has ${header.length}.`;
    return { position: line, loan: null, reference: null, faults: [{ code: "WRONG_TYPE", pointer: "", detail }] };
  }
  const raw: Partial<Record<PaymentField, unknown>> = {};
  for (const { name, index, target } of used) {
    const text = textOfFormula(cellText(cells[index]));
    if (text === "" || (OPTIONAL.has(target) && isPlaceholder(text))) continue;
    const cell = readCell(text, target, { ...reading, column: reading.readings.get(index) ?? {} });
    if ("value" in cell) raw[target] = cell.value;
    else
      unreadable.push({
        code: codeFor(target),
        pointer: `/rows/${line}/${target}`,
        detail: `column "${name}": ${cell.fault}`,
      });
  }
  if (used.some(({ target }) => target === "direction") && raw.direction === undefined && unreadable.length === 0) {
    const detail = "The line has neither Dr nor Cr, so it may be a debit.";
    unreadable.push({ code: "REQUIRED", pointer: `/rows/${line}/direction`, detail });
  }
  const checked = checkPaymentRow(raw, line);
  if (unreadable.length === 0) {
    const mode = typeof raw.mode === "string" ? raw.mode : null;
    return "row" in checked ? { ...checked, row: { ...checked.row, mode } } : checked;
  }
  const { loan, reference } = "row" in checked ? checked.row : checked;
  // A field whose cell could not be read is absent in `raw`. Report the cell, and not that the field is missing.
  const otherFaults = "faults" in checked ? checked.faults : [];
  const isReported = (pointer: string) => unreadable.some((fault) => fault.pointer === pointer);
  return {
    position: line,
    loan,
    reference,
    faults: [...unreadable, ...otherFaults.filter(({ pointer }) => !isReported(pointer))],
  };
}

type CellRules = PaymentReading & { readonly column: ColumnReading };

function readCell(text: string, field: PaymentField, rules: CellRules): CellReading<unknown> {
  const { lender, column } = rules;
  switch (field) {
    case "amount":
      return readAmountCell(withoutMark(text), lender.currency, column.decimal);
    case "loan":
    case "reference":
      return readIdentityCell(text, column.isWhole);
    case "paidAt":
      return readPaidAt(withoutMark(text), rules);
    case "mode":
      // The comparison ignores the mode. A text that no confirmation accepts counts as absent, and is booked as `other`.
      return { value: paymentMode(text) === undefined ? null : text };
    case "direction":
      return readDirection(text);
  }
}

function readDirection(text: string): CellReading<"credit"> {
  if (/^(?:c|cr|credit)\.?$/i.test(text)) return { value: "credit" };
  if (/^(?:d|dr|debit)\.?$/i.test(text)) return { fault: "The line is a debit, and a debit is not a payment." };
  return { fault: `${shown(text)} is neither Dr nor Cr.` };
}

/** Reads a date with a time. */
export function readMoment(text: string, { lender, columns, readings }: PaymentReading): CellReading<string> {
  const { index = -1 } = columns.used.find(({ target }) => target === "paidAt") ?? {};
  return readMomentCell(text, readings.get(index)?.dateOrder ?? "dmy", {
    timeZone: lender.timeZone,
    balanceCutoff: null,
  });
}

function readPaidAt(text: string, reading: CellRules): CellReading<string> {
  const { lender, column, paidTime, hasOnlyDates } = reading;
  const hasTime = hasTimeOfDay(text);
  const moment = hasTime ? readMoment(text, reading) : undefined;
  if (moment && ("fault" in moment || !hasOnlyDates)) return moment;
  const at = moment && new Date(moment.value);
  if (moment && Number.isNaN(at!.getTime())) return moment;
  const day = at
    ? { value: dayIn(lender.timeZone, at) }
    : readDayCell(text, column.dateOrder ?? "dmy", lender.timeZone);
  if ("fault" in day) return day;
  if (paidTime !== undefined) return { value: instantOf(day.value, paidTime, lender.timeZone).toISOString() };
  const why = hasTime
    ? "is midnight like every time of this column, so it may be a date without a time"
    : "has no time of day, and the payment may be before or after a balance of that day";
  const instead = "give the time of such payments with --paid-time";
  return {
    fault: `${shown(text)} ${why}. ${hasTime ? "Write the time of day" : `Write ${text} 18:00`}, or ${instead}.`,
  };
}

function codeFor(field: PaymentField): string {
  if (field === "amount") return "AMOUNT_OUT_OF_RANGE";
  if (field === "direction") return "INVALID_ENUM";
  return field === "paidAt" ? "INVALID_DATE" : "WRONG_TYPE";
}
