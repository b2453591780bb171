import type { Lender } from "@collections/lenders";
import type { DecimalSign } from "./amount-cell.ts";
import { type ColumnNames, normalised } from "./column-names.ts";
import { type MapOption, readColumns } from "./columns.ts";
import type { DateOrder } from "./day-cell.ts";
import type { Encoding } from "./file-text.ts";
import { type SurveyedFile, surveyFile } from "./survey.ts";
import { openTable, type TableFile } from "./table-file.ts";

/** The options that say where the table of a lender's file is. */
export interface TableOptions<Field extends string> {
  readonly map: readonly MapOption<Field>[];
  readonly encoding?: Encoding | undefined;
  readonly separator?: string | undefined;
  readonly headerLine?: number | undefined;
  readonly sheet?: string | undefined;
}

/** The options that say how a lender's file is read. */
export interface FileOptions<Field extends string> extends TableOptions<Field> {
  readonly dateOrder?: DateOrder | undefined;
  readonly decimal?: DecimalSign | undefined;
}

/** The fields that columns of a file may contain, the lender of the file, and how to read the file. */
export interface LenderFile<Field extends string> {
  readonly names: ColumnNames<Field>;
  readonly lender: Pick<Lender, "country" | "currency" | "timeZone">;
  readonly options: FileOptions<Field>;
  /** Whether somebody has uploaded the file. A workbook then has lower limits. */
  readonly isUploaded?: boolean;
}

/** Opens a lender's file and reads its header. Throws FileNotReadableError. The caller disposes of `bytes`. */
export function openLenderFile<Field extends string>(
  path: string,
  { names, options, isUploaded }: LenderFile<Field>,
): Promise<TableFile> {
  const { map, encoding, separator, headerLine, sheet } = options;
  const mapped = new Map(map.map(({ column, target }) => [normalised(column), target]));
  const fieldOf = (name: string) => mapped.get(normalised(name)) ?? names.knownName(name);
  return openTable(path, { encoding, separator, headerLine, sheet, isUploaded, fieldOf });
}

/** Reads an open file once from end to end. Throws an error with a sentence if the file cannot be read without doubt. */
export function surveyLenderFile<Field extends string>(
  table: TableFile,
  { names, lender, options: { map, dateOrder, decimal } }: LenderFile<Field>,
): Promise<SurveyedFile<Field>> {
  return surveyFile(table, readColumns(table, map, names), { names, lender, dateOrder, decimal });
}

/** Reads the separator that an option names: one character, or the word tab. Undefined if it is neither. */
export function separatorOf(text: string): string | undefined {
  if (text === "tab") return "\t";
  return /^[^"\r\n]$/u.test(text) ? text : undefined;
}

/** Reads the number of a line from 1 to 9999. Undefined for another text. */
export function lineNumberOf(text: string): number | undefined {
  return /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined;
}

/** Reads the sign before decimals, `point` or `comma`. Undefined for another text. */
export function decimalSignOf(text: string): DecimalSign | undefined {
  if (text === "point" || text === ".") return ".";
  return text === "comma" || text === "," ? "," : undefined;
}
