import { cellText } from "./cell-text.ts";
import { normalised, REJECTED_COLUMNS } from "./column-names.ts";
import { csvRecords, type CsvSource, type FileRecord } from "./csv-records.ts";
import { FileBytes } from "./file-bytes.ts";
import { type Encoding, encodingOf, FileNotReadableError, textOf } from "./file-text.ts";
import { findHeader, type HeaderHints } from "./find-header.ts";
import { unmarkFormula } from "./formula-mark.ts";
import { isArchive } from "./workbook/is-archive.ts";
import type { SourceSheet } from "./workbook/workbook-as-text.ts";

/** A file with a header and rows, whose header has been read. */
export interface TableFile extends CsvSource {
  readonly path: string;
  readonly header: readonly string[];
  /** The sheet from which the rows come, if the file is an Excel workbook. */
  readonly sheet?: SourceSheet;
}

/** A file that has been read once from end to end. */
export interface ReadFile extends TableFile {
  /** Records after the header, without repeated headers and without the skipped rows at the end. */
  readonly rows: number;
  /** SHA-256 of the bytes of the file, as 64 hex digits. */
  readonly sha256: string;
}

/** The options of a command about the format of a file. */
export interface FileHints extends HeaderHints {
  readonly encoding?: Encoding | undefined;
  /** The name or the number of the sheet of an Excel workbook. */
  readonly sheet?: string | undefined;
  /** Whether somebody has uploaded the file. A workbook then has lower limits. */
  readonly isUploaded?: boolean | undefined;
}

/** Opens a file and reads its header. Throws FileNotReadableError. The caller disposes of `bytes`. */
export async function openTable(path: string, hints: FileHints): Promise<TableFile> {
  const source = (await isArchive(path)) ? await sheetOf(path, hints) : undefined;
  if (!source && hints.sheet !== undefined) {
    throw new FileNotReadableError("--sheet is for Excel workbooks (.xlsx), and the file is none. Remove the option.");
  }
  const bytes = source?.bytes ?? (await FileBytes.open(path));
  try {
    const encoding = source ? "utf-8" : await encodingOf(bytes, hints.encoding);
    const found = findHeader(await firstText(bytes, encoding), source ? { ...hints, separator: "," } : hints);
    if (!found) {
      const { headerLine } = hints;
      throw new FileNotReadableError(
        headerLine === undefined ? "The file is empty." : `The file has no header in line ${headerLine}.`,
      );
    }
    const cells = isOfRejectedFile(found.cells) ? found.cells.map(unmarkFormula) : found.cells;
    const header = cells.map((name) => cellText(name).replaceAll(/\s+/g, " "));
    const table = { path, bytes, encoding, separator: found.separator, headerLine: found.line, header };
    return source ? { ...table, sheet: source.sheet } : table;
  } catch (error) {
    await bytes[Symbol.asyncDispose]();
    throw error;
  }
}

/** Loads the code that reads workbooks only if it is needed, so that commands start sooner. */
async function sheetOf(path: string, { sheet, isUploaded }: FileHints) {
  const { UPLOAD_LIMITS, workbookAsText } = await import("./workbook/workbook-as-text.ts");
  return isUploaded ? workbookAsText(path, sheet, UPLOAD_LIMITS) : workbookAsText(path, sheet);
}

async function firstText(bytes: FileBytes, encoding: Encoding): Promise<string> {
  for await (const piece of textOf(bytes, encoding)) return piece;
  return "";
}

/**
 * Yields the records after the header, in order. Only a few records are in memory at a time. Reports that print their
 * header on each page repeat it between the rows; `onRepeatedHeader` is called with these lines.
 */
export async function* recordsOf(
  file: TableFile,
  onRepeatedHeader: (line: number) => void = () => {},
): AsyncGenerator<FileRecord> {
  const isMarked = isOfRejectedFile(file.header);
  let header: readonly string[] | undefined;
  for await (const record of csvRecords(file)) {
    if (!header) header = record.cells;
    else if (isSame(record.cells, header)) onRepeatedHeader(record.line);
    else yield isMarked ? { ...record, cells: record.cells.map(unmarkFormula) } : record;
  }
}

function isSame(cells: readonly string[], header: readonly string[]): boolean {
  return cells.length === header.length && cells.every((cell, index) => cell === header[index]);
}

/** Yields the rows of a file, without the skipped rows at its end. */
export async function* rowsOf(file: ReadFile): AsyncGenerator<FileRecord> {
  let left = file.rows;
  if (left === 0) return;
  for await (const record of recordsOf(file)) {
    yield record;
    left -= 1;
    if (left === 0) return;
  }
}

/**
 * Returns true for a file of rejected rows, in which formulas were marked with an apostrophe. In other files, an
 * apostrophe is a part of the cell.
 */
function isOfRejectedFile(header: readonly string[]): boolean {
  const names = new Set(header.map(normalised));
  return REJECTED_COLUMNS.every((name) => names.has(normalised(name)));
}
