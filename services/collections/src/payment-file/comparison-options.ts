import { readInstant } from "@collections/cases";
import type { FileOptions } from "../table-file/lender-file.ts";
import { type OptionsReading, readFileOptions, type TypedOptions } from "../table-file/upload/upload-options.ts";
import { PAYMENT_COLUMNS, type PaymentField } from "./payment-columns.ts";

/** The options of a comparison of payments. */
export interface ComparisonOptions extends FileOptions<PaymentField> {
  /** `YYYY-MM-DD` */
  readonly day: string;
  /** `HH:MM` */
  readonly paidTime: string | undefined;
  /** Lines that are parts of one payment. */
  readonly parts: readonly number[];
}

/** Reads the options of a comparison of payments as the command reads them. */
export function readComparisonOptions(typed: TypedOptions): OptionsReading<ComparisonOptions> {
  const read = readFileOptions(typed, PAYMENT_COLUMNS);
  if ("problem" in read) return read;
  const { day = "", paidTime, parts = "" } = typed;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(day) && "instant" in readInstant(`${day}T00:00Z`);
  if (!isDay) return { problem: "--day: Expected a day such as 2026-11-20." };
  if (paidTime !== undefined && !/^(?:[01]\d|2[0-3]):[0-5]\d$/.test(paidTime))
    return { problem: "--paid-time: Expected a time of day such as 12:00." };
  const lines = parts.split(/[\s,]+/).filter((text) => text !== "");
  if (lines.some((text) => !/^[1-9]\d{0,8}$/.test(text)))
    return { problem: "--parts: Expected the numbers of lines of the file." };
  return { options: { ...read.options, day, paidTime, parts: lines.map(Number) } };
}
