import { parse } from "csv-parse/sync";
import { cellText } from "./cell-text.ts";
import { breaksIn, CSV_OPTIONS } from "./csv-records.ts";

/** The header of a file, and the character between its cells. */
export interface FoundHeader {
  readonly separator: string;
  /** The line of the header, counted from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** The options of the command about the header, and the known column names. */
export interface HeaderHints {
  readonly separator?: string | undefined;
  readonly headerLine?: number | undefined;
  /** Returns the field that a column name may mean, or undefined for an unknown name. */
  readonly fieldOf: (name: string) => string | undefined;
}

const SEPARATORS = [",", ";", "\t", "|"];
/** Titles, dates and addresses above a header are rarely longer. */
const SEARCHED_LINES = 30;
/** The longest header with its line breaks. */
const HEADER_LINES = 40;
/** A line for Excel that names the separator. */
const SEPARATOR_LINE = /^\s*"?sep=(.)"?\s*$/i;

/**
 * Finds the header in the first lines of a file: the record with the most known column names. If no line has two known
 * names, the header is the first line that is not blank. Returns undefined for a text without such a line.
 */
export function findHeader(head: string, { separator, headerLine, fieldOf }: HeaderHints): FoundHeader | undefined {
  const lines = head.split("\n");
  const named = SEPARATOR_LINE.exec(lines[0]!)?.[1];
  const separators = [separator ?? named].flatMap((one) => (one === undefined ? SEPARATORS : [one]));
  const isText = (line: string) => cellText(line) !== "";
  const first = lines.findIndex((line, index) => isText(line) && !(index === 0 && named !== undefined));
  if (first === -1) return undefined;
  const [from, to] = headerLine === undefined ? [first, first + SEARCHED_LINES] : [headerLine - 1, headerLine];
  let best: Candidate | undefined;
  for (const [offset, text] of lines.slice(from, to).entries()) {
    if (!isText(text)) continue;
    const line = from + offset + 1;
    const record = lines.slice(line - 1, line - 1 + HEADER_LINES).join("\n");
    for (const one of separators) {
      const cells = firstRecord(record, one);
      if (!cells) continue;
      const known = new Set(cells.flatMap((name) => fieldOf(cellText(name)) ?? [])).size;
      const candidate = { separator: one, line, cells, known };
      // A single known name may stand in a title or in a row.
      const mayBeHeader = known > 1 || line === first + 1 || headerLine !== undefined;
      if (mayBeHeader && isBetter(candidate, best)) best = candidate;
    }
  }
  return best;
}

interface Candidate extends FoundHeader {
  /** The number of fields whose names it has. */
  readonly known: number;
}

/** Prefers more known names, then the earlier line, then the separator that finds more cells. */
function isBetter(one: Candidate, best: Candidate | undefined): boolean {
  if (best === undefined || one.known > best.known) return true;
  return one.known === best.known && one.line === best.line && one.cells.length > best.cells.length;
}

/** Returns the cells of the first record of a text, or undefined if the text has none with this separator. */
function firstRecord(text: string, separator: string): string[] | undefined {
  let cells: string[] | undefined;
  try {
    parse(text, {
      ...CSV_OPTIONS,
      delimiter: separator,
      to: 1,
      on_record(record: string[]) {
        cells ??= record;
        return null;
      },
    });
  } catch {
    // The text ends within a cell, or is not CSV with this separator.
  }
  return cells && breaksIn(cells) < HEADER_LINES ? cells : undefined;
}
