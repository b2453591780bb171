import { timeIn } from "@collections/local-time";
import { cellText } from "../table-file/cell-text.ts";
import { ColumnsNotUnderstoodError } from "../table-file/columns.ts";
import { hasTimeOfDay } from "../table-file/day-cell.ts";
import { type ReadFile, rowsOf } from "../table-file/table-file.ts";
import { type PaymentReading, readMoment } from "./payment-rows.ts";

const DIRECTION = /^(?:dr|cr|debit|credit)\.?$/i;

/**
 * Reads the columns of a file of payments, as far as they have to be known before a row is read. Returns whether the column
 * `paidAt` has only dates: then each of its times is midnight. Throws ColumnsNotUnderstoodError if another column has only Dr
 * and Cr, because a debit must not be booked as a payment.
 */
export async function inspectPayments(file: ReadFile, reading: PaymentReading): Promise<{ hasOnlyDates: boolean }> {
  const { columns, lender } = reading;
  const paidAt = columns.used.find(({ target }) => target === "paidAt");
  const isUnknown = new Set(columns.unknown);
  let open = columns.header.flatMap((name, index) => (isUnknown.has(name) ? [{ name, index, isNamed: false }] : []));
  let mayBeDates = paidAt !== undefined;
  for await (const { cells } of rowsOf(file)) {
    open = open.flatMap((column) => {
      const text = cellText(cells[column.index]);
      if (text === "") return [column];
      return DIRECTION.test(text) ? [{ ...column, isNamed: true }] : [];
    });
    if (mayBeDates) mayBeDates = isMidnight(cellText(cells[paidAt!.index]), reading, lender.timeZone);
    if (!mayBeDates && open.length === 0) break;
  }
  const problems = open.flatMap(({ name, isNamed }) =>
    isNamed
      ? [
          `Column "${name}" has only Dr and Cr, and a debit is not a payment. Name it by --map "${name}=direction", or ignore the ` +
            `column by --map "${name}=-".`,
        ]
      : [],
  );
  if (problems.length > 0) throw new ColumnsNotUnderstoodError(problems);
  return { hasOnlyDates: mayBeDates };
}

/** Tells whether a cell has no other time of day than midnight. */
function isMidnight(text: string, reading: PaymentReading, timeZone: string): boolean {
  if (!hasTimeOfDay(text)) return true;
  const moment = readMoment(text, reading);
  if ("fault" in moment) return true;
  const at = new Date(moment.value);
  return Number.isNaN(at.getTime()) || (timeIn(timeZone, at).endsWith(" 00:00:00") && at.getMilliseconds() === 0);
}
