import { separatorName } from "../../table-file/columns.ts";
import type { SurveyedColumn, SurveyedFile } from "../../table-file/survey.ts";
import { amountText } from "../amount-text.ts";
import { counted } from "../counted.ts";

const DECIDED_BY = {
  cells: "as its cells show",
  "other columns": "like the other columns",
  option: "as the option says",
  country: "as usual in the lender's country",
} as const;

/** How a file is read, in words. */
export interface FileWords {
  /** The number of rows, and the format. */
  readonly headline: string;
  readonly columns: readonly (readonly [column: string, field: string])[];
  readonly ranges: readonly ColumnRange[];
  /** Sentences before `ranges`, about columns that are not read. */
  readonly ignored: readonly string[];
  /** Sentences after `ranges`, about doubtful cells and skipped lines. */
  readonly notices: readonly string[];
}

/** The values of a column of days or amounts, and how they were read. */
export type ColumnRange = readonly [column: string, from: string, to: string, sum: string, readWith: string];

/** Describes how a file is read: its columns with their fields, and what was found in them. */
export function fileWords({ file, columns, surveyed, skipped, warnings }: SurveyedFile<string>): FileWords {
  const { rows, encoding, separator, headerLine, sheet } = file;
  const header = headerLine === 1 ? "" : `, header in line ${headerLine}`;
  const how = sheet
    ? `sheet "${sheet.name}"${sheet.sheets.length > 1 ? `, one of ${sheet.sheets.length}` : ""}${header}`
    : `${encoding.toUpperCase()}, cells separated by ${separatorName(separator)}${header}`;
  return {
    headline: `${counted(rows, "row")}; ${how}.`,
    columns: columns.used.map(({ name, target }) => [name, target]),
    ignored:
      columns.unknown.length > 0
        ? [`Ignored columns: ${columns.unknown.join(", ")}. To read one, add --map "Column=field".`]
        : [],
    ranges: surveyed.flatMap(rangesOf),
    notices: [
      ...surveyed.flatMap(openText),
      ...skipped.map(({ line, because }) => `Line ${line} is skipped: ${because}.`),
      ...warnings.map(({ detail, count }) => `Warning: ${detail}${count > 1 ? ` ${count} cells are like this.` : ""}`),
    ],
  };
}

/** Returns the name of the sign before decimals. */
export function signName(decimal: "." | ","): string {
  return decimal === "." ? "point" : "comma";
}

function rangesOf({ name, dateOrder, decimal, decidedBy, days, amounts }: SurveyedColumn): ColumnRange[] {
  const why = decidedBy === undefined ? "" : `, ${DECIDED_BY[decidedBy]}`;
  if (dateOrder !== undefined) {
    if (!days) return [];
    const order = decidedBy === undefined ? "" : `${dateOrder === "dmy" ? "day" : "month"} first${why}`;
    return [[name, days.first, days.last, "", order]];
  }
  const sign = decidedBy === undefined ? "" : `decimal ${signName(decimal!)}${why}`;
  return amounts!.map(({ currency, smallestMinor, largestMinor, sumMinor }) => {
    const text = (minor: bigint) => amountText(minor, currency);
    return [name, text(smallestMinor), text(largestMinor), text(sumMinor), sign];
  });
}

/** Says of a column with two possible readings which of them was chosen, and how to choose the other. */
function openText({ name, dateOrder, decidedBy, open }: SurveyedColumn): string[] {
  if (!open || decidedBy === "cells" || decidedBy === "option") return [];
  const option = dateOrder === undefined ? "--decimal" : "--date-order";
  return [`"${open.text}" in line ${open.line} of column "${name}" has two readings; ${option} chooses the other one.`];
}
