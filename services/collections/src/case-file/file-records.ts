import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { CsvError, type Info, parse } from "csv-parse";
import { normalised, REJECTED_COLUMNS } from "./column-names.ts";
import { cellText } from "./file-row.ts";
import { type Encoding, encodingOf, FileNotReadableError, textOf } from "./file-text.ts";
import { unmarkFormula } from "./formula-mark.ts";

/**
 * One record of a file. A record has several lines if a cell has line breaks. `line` is the number of its first line,
 * counted from 1.
 */
export interface FileRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/** A file that has been read once from end to end. */
export interface CaseFile {
  readonly path: string;
  readonly encoding: Encoding;
  readonly separator: string;
  readonly header: readonly string[];
  /** Records after the header. */
  readonly rows: number;
  /** SHA-256 of the bytes of the file, as 64 hex digits. */
  readonly sha256: string;
}

const SEPARATORS = [",", ";", "\t", "|"];
/** The maximum size of a record. Without it, a quote that is never closed would make the rest of the file one cell. */
const MAX_RECORD_BYTES = 65_536;

/**
 * Reads the whole file, so that an unreadable part is reported before any row is applied. Throws FileNotReadableError.
 */
export async function inspectFile(
  path: string,
  given: { readonly encoding?: Encoding | undefined; readonly separator?: string | undefined },
): Promise<CaseFile> {
  const encoding = await encodingOf(path, given.encoding);
  const separator = given.separator ?? (await separatorOf(path, encoding));
  const sha256 = createHash("sha256");
  let header: readonly string[] | undefined;
  let rows = 0;
  for await (const { cells } of records(path, { encoding, separator }, (chunk) => sha256.update(chunk))) {
    if (header) rows += 1;
    else header = isOfRejectedFile(cells) ? cells.map(unmarkFormula) : cells;
  }
  if (!header) throw new FileNotReadableError("The file is empty.");
  return {
    path,
    encoding,
    separator,
    header: header.map((name) => cellText(name).replaceAll(/\s+/g, " ")),
    rows,
    sha256: sha256.digest("hex"),
  };
}

/** Yields the records after the header, in order. Only a few records are in memory at a time. */
export async function* rowsOf({ path, encoding, separator, header }: CaseFile): AsyncGenerator<FileRecord> {
  const isMarked = isOfRejectedFile(header);
  let isHeader = true;
  for await (const record of records(path, { encoding, separator })) {
    if (!isHeader) yield isMarked ? { ...record, cells: record.cells.map(unmarkFormula) } : record;
    isHeader = false;
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

/** Yields the records that are not blank. */
async function* records(
  path: string,
  { encoding, separator }: { encoding: Encoding; separator: string },
  onBytes?: (chunk: Buffer) => void,
): AsyncGenerator<FileRecord> {
  const source = Readable.from(textOf(path, encoding, onBytes));
  let linesRead = 0;
  const parser = parse({
    delimiter: separator,
    record_delimiter: "\n",
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_BYTES,
    on_record(record: string[], { lines }: Info) {
      linesRead = lines;
      return record;
    },
  });
  source.once("error", (error) => parser.destroy(error)).pipe(parser);
  try {
    for await (const parsed of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      const { record: cells, info } = parsed;
      if (cells.some((cell) => cellText(cell) !== "")) yield { line: info.lines - breaksIn(cells), cells };
    }
  } catch (error) {
    throw error instanceof CsvError ? new FileNotReadableError(csvFault(error, linesRead + 1)) : error;
  } finally {
    source.destroy();
    parser.destroy();
  }
}

function csvFault({ code }: CsvError, line: number): string {
  if (code === "CSV_QUOTE_NOT_CLOSED" || code === "CSV_MAX_RECORD_SIZE") {
    return `line ${line}: a quotation mark opens a cell and nothing closes it.`;
  }
  return `line ${line}: a quotation mark in the middle of a cell. Quote the whole cell, and double the marks in it.`;
}

function breaksIn(cells: readonly string[]): number {
  return cells.reduce((sum, cell) => sum + (cell.includes("\n") ? cell.split("\n").length - 1 : 0), 0);
}

/** Returns the separator in SEPARATORS that is most frequent in the header, outside of quotation marks. */
async function separatorOf(path: string, encoding: Encoding): Promise<string> {
  for await (const piece of textOf(path, encoding)) {
    const [header = ""] = piece.trimStart().split("\n", 1);
    const open = header.replaceAll(/"[^"]*"/g, "");
    const counted = SEPARATORS.map((separator) => ({ separator, count: open.split(separator).length }));
    return counted.reduce((most, one) => (one.count > most.count ? one : most)).separator;
  }
  return ",";
}
