import { toDecimal } from "@collections/money";
import { amountText } from "../../desk/amount-text.ts";
import type { AmountRange } from "../../table-file/column-reading.ts";
import { separatorName } from "../../table-file/columns.ts";
import type { SurveyedColumn, SurveyedFile } from "../../table-file/survey.ts";
import { table } from "./with-database.ts";
import { counted } from "../../desk/counted.ts";

const DECIDED_BY = {
  cells: "as its cells show",
  "other columns": "like the other columns",
  option: "as the option says",
  country: "as usual in the lender's country",
} as const;

/** Describes how a file is read, as text: its columns with their fields, and what was found in them. */
export function surveyText({ file, columns, surveyed, skipped, warnings }: SurveyedFile<string>): string {
  const { rows, encoding, separator, headerLine, sheet } = file;
  const header = headerLine === 1 ? "" : `, header in line ${headerLine}`;
  const how = sheet
    ? `sheet "${sheet.name}"${sheet.sheets.length > 1 ? `, one of ${sheet.sheets.length}` : ""}${header}`
    : `${encoding.toUpperCase()}, cells separated by ${separatorName(separator)}${header}`;
  const read = surveyed.flatMap(surveyedLines);
  return [
    `${counted(rows, "row")}; ${how}.`,
    table([["COLUMN", "FIELD"], ...columns.used.map(({ name, target }) => [name, target])]),
    ...(columns.unknown.length > 0
      ? [`Ignored columns: ${columns.unknown.join(", ")}. To read one, add --map "Column=field".`]
      : []),
    ...(read.length === 0 ? [] : [table([["COLUMN", "FROM", "TO", "SUM", "READ WITH"], ...read])]),
    ...surveyed.flatMap(openText),
    ...skipped.map(({ line, because }) => `Line ${line} is skipped: ${because}.`),
    ...warnings.map(({ detail, count }) => `Warning: ${detail}${count > 1 ? ` ${count} cells are like this.` : ""}`),
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

function surveyedLines({ name, dateOrder, decimal, decidedBy, days, amounts }: SurveyedColumn): string[][] {
  const why = decidedBy === undefined ? "" : `, ${DECIDED_BY[decidedBy]}`;
  if (dateOrder !== undefined) {
    if (!days) return [];
    const order = decidedBy === undefined ? "" : `${dateOrder === "dmy" ? "day" : "month"} first${why}`;
    return [[name, days.first, days.last, "", order]];
  }
  const sign = decidedBy === undefined ? "" : `decimal ${signName(decimal!)}${why}`;
  return amounts!.map(({ currency, smallestMinor, largestMinor, sumMinor }) => {
    const [from, to, sum] = [smallestMinor, largestMinor, sumMinor].map((minor) => amountText(minor, currency));
    return [name, from!, to!, sum!, sign];
  });
}

/** Says of a column with two possible readings which of them was chosen, and how to choose the other. */
function openText({ name, dateOrder, decidedBy, open }: SurveyedColumn): string[] {
  if (!open || decidedBy === "cells" || decidedBy === "option") return [];
  const option = dateOrder === undefined ? "--decimal" : "--date-order";
  return [`"${open.text}" in line ${open.line} of column "${name}" has two readings; ${option} chooses the other one.`];
}

function signName(decimal: "." | ","): string {
  return decimal === "." ? "point" : "comma";
}
