import { type CheckedPaymentRow, checkPaymentRow, paymentMode } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { instantOf } from "@collections/local-time";
import {
  type CellReading,
  type DateOrder,
  readAmountCell,
  readDayCell,
  readDigitsCell,
  readMomentCell,
  shown,
} from "../case-file/cells.ts";
import type { Columns } from "../case-file/columns.ts";
import { type CaseFile, type FileRecord, rowsOf } from "../case-file/file-records.ts";
import { cellText } from "../case-file/file-row.ts";
import type { PaymentField } from "./payment-columns.ts";

/** The columns of a file of payments, and the rules for reading its cells. */
export interface PaymentReading {
  readonly columns: Columns<PaymentField>;
  readonly lender: Pick<Lender, "currency" | "timeZone">;
  readonly dateOrder: DateOrder;
  /** The local time `HH:MM` of payments whose cell has only a date. Without it, such a cell is a fault. */
  readonly paidTime: string | undefined;
}

const ROWS_A_PAGE = 2_000;

/**
 * Yields the rows of a file in pages. The position of a row is its line. Only a page is in memory at a time.
 */
export async function* paymentRowsOf(file: CaseFile, reading: PaymentReading): AsyncGenerator<CheckedPaymentRow[]> {
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
    const text = cellText(cells[index]);
    if (text === "") continue;
    const cell = readCell(text, target, reading);
    if ("value" in cell) raw[target] = cell.value;
    else
      unreadable.push({
        code: codeFor(target),
        pointer: `/rows/${line}/${target}`,
        detail: `column "${name}": ${cell.fault}`,
      });
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

function readCell(
  text: string,
  field: PaymentField,
  { lender, dateOrder, paidTime }: PaymentReading,
): CellReading<unknown> {
  switch (field) {
    case "amount":
      return readAmountCell(text, lender.currency);
    case "loan":
    case "reference":
      return readDigitsCell(text);
    case "paidAt":
      return readPaidAt(text, { timeZone: lender.timeZone, dateOrder, paidTime });
    case "mode":
      // The comparison ignores the mode. A text that no confirmation accepts counts as absent, and is booked as `other`.
      return { value: paymentMode(text) === undefined ? null : text };
  }
}

function readPaidAt(
  text: string,
  {
    timeZone,
    dateOrder,
    paidTime,
  }: { readonly timeZone: string; readonly dateOrder: DateOrder; readonly paidTime: string | undefined },
): CellReading<string> {
  const day = readDayCell(text, dateOrder);
  if ("fault" in day) return readMomentCell(text, dateOrder, { timeZone, balanceCutoff: null });
  if (paidTime !== undefined) return { value: instantOf(day.value, paidTime, timeZone).toISOString() };
  const why = "has no time of day, and the payment may be before or after a balance of that day";
  return { fault: `${shown(text)} ${why}. Write ${text} 18:00, or give the time of such payments with --paid-time.` };
}

function codeFor(field: PaymentField): string {
  if (field === "amount") return "AMOUNT_OUT_OF_RANGE";
  return field === "paidAt" ? "INVALID_DATE" : "WRONG_TYPE";
}
