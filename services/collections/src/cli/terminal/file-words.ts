import { toDecimal } from "@collections/money";
import { fileWords, signName } from "../../desk/files/file-words.ts";
import type { AmountRange } from "../../table-file/column-reading.ts";
import type { SurveyedFile } from "../../table-file/survey.ts";
import { table } from "./with-database.ts";

/** Describes how a file is read, as text: its columns with their fields, and what was found in them. */
export function surveyText(surveyed: SurveyedFile<string>): string {
  const { headline, columns, ignored, ranges, notices } = fileWords(surveyed);
  return [
    headline,
    table([["COLUMN", "FIELD"], ...columns]),
    ...ignored,
    ...(ranges.length === 0 ? [] : [table([["COLUMN", "FROM", "TO", "SUM", "READ WITH"], ...ranges])]),
    ...notices,
  ].join("\n");
}

/** Returns how a file is read, as JSON. */
export function shownSurvey({ file, columns, surveyed, skipped, warnings }: SurveyedFile<string>): object {
  return {
    sha256: file.sha256,
    rows: file.rows,
    ...(file.sheet && { sheet: file.sheet.name }),
    headerLine: file.headerLine,
    columns: Object.fromEntries(columns.used.map(({ name, target }) => [name, target])),
    unknownColumns: columns.unknown,
    reading: surveyed.map(({ name, dateOrder, decimal, decidedBy, open, days, amounts }) => ({
      column: name,
      ...(dateOrder && { dateOrder, first: days?.first ?? null, last: days?.last ?? null }),
      ...(decimal && { decimal: signName(decimal), amounts: amounts!.map(shownRange) }),
      ...(decidedBy && { decidedBy }),
      ...(open && { open }),
    })),
    skippedRows: skipped,
    columnWarnings: warnings.map(({ name, ...warning }) => ({ column: name, ...warning })),
  };
}

function shownRange({ currency, smallestMinor, largestMinor, sumMinor }: AmountRange): object {
  const [smallest, largest, sum] = [smallestMinor, largestMinor, sumMinor].map((minor) => toDecimal(minor, currency));
  return { currency, smallest, largest, sum };
}
