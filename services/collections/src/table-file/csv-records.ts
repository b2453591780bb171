import { Readable } from "node:stream";
import { CsvError, type Info, parse } from "csv-parse";
import { cellText } from "./cell-text.ts";
import type { FileBytes } from "./file-bytes.ts";
import { type Encoding, FileNotReadableError, textOf } from "./file-text.ts";

/**
 * One record of a file. A record has several lines if a cell has line breaks. `line` is the number of its first line,
 * counted from 1.
 */
export interface FileRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/** How the text of a file is divided into records. */
export interface CsvSource {
  readonly bytes: FileBytes;
  readonly encoding: Encoding;
  readonly separator: string;
  /** The line of the header, counted from 1. Lines before it are not read. */
  readonly headerLine: number;
}

/** The maximum size of a record. Without it, a quote that is never closed would make the rest of the file one cell. */
export const MAX_RECORD_CHARACTERS = 65_536;

/**
 * Options for csv-parse. `relax_quotes` reads `="0001"` without quotes around it, as some programs write it.
 */
export const CSV_OPTIONS = {
  record_delimiter: "\n",
  relax_column_count: true,
  relax_quotes: true,
  max_record_size: MAX_RECORD_CHARACTERS,
} as const;

/** Yields the records from the header on that are not blank. Throws FileNotReadableError. */
export async function* csvRecords({ bytes, encoding, separator, headerLine }: CsvSource): AsyncGenerator<FileRecord> {
  const source = Readable.from(fromLine(headerLine, textOf(bytes, encoding)));
  const skipped = headerLine - 1;
  let linesRead = 0;
  const parser = parse({
    ...CSV_OPTIONS,
    delimiter: separator,
    info: true,
    skip_empty_lines: true,
    on_record(record: string[], { lines }: Info) {
      linesRead = lines;
      return record;
    },
  });
  source.once("error", (error) => parser.destroy(error)).pipe(parser);
  try {
    for await (const parsed of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      const { record: cells, info } = parsed;
      if (cells.some((cell) => cellText(cell) !== "")) yield { line: skipped + info.lines - breaksIn(cells), cells };
    }
  } catch (error) {
    throw error instanceof CsvError ? csvFault(error, linesRead + 1, skipped) : error;
  } finally {
    source.destroy();
    parser.destroy();
  }
}

/** Yields the text from a line on. */
async function* fromLine(line: number, text: AsyncIterable<string>): AsyncGenerator<string> {
  let left = line - 1;
  for await (const piece of text) {
    let from = 0;
    while (left > 0) {
      const at = piece.indexOf("\n", from);
      if (at === -1) break;
      from = at + 1;
      left -= 1;
    }
    if (left === 0) yield from === 0 ? piece : piece.slice(from);
  }
}

/** Describes an error of csv-parse in the record that begins at line `first` of the text after `skipped` lines. */
function csvFault(error: CsvError, first: number, skipped: number): FileNotReadableError {
  const line = skipped + first;
  // Only a cell in quotation marks can continue on the next line.
  const isOneLine = error.code === "CSV_MAX_RECORD_SIZE" && Number(error["lines"]) <= first;
  if (isOneLine) {
    const most = MAX_RECORD_CHARACTERS.toLocaleString("en");
    return new FileNotReadableError(
      `line ${line} has more than ${most} characters. Is this a CSV file with one loan or payment on each line? Divide the line.`,
    );
  }
  return new FileNotReadableError(`line ${line}: a quotation mark opens a cell and nothing closes it.`);
}

export function breaksIn(cells: readonly string[]): number {
  return cells.reduce((sum, cell) => sum + (cell.includes("\n") ? cell.split("\n").length - 1 : 0), 0);
}
