import { cellText } from "../table-file/cell-text.ts";
import type { Columns } from "../table-file/columns.ts";
import type { FileRecord } from "../table-file/csv-records.ts";
import { SeenLoans } from "../table-file/seen-loans.ts";
import { type ReadFile, rowsOf } from "../table-file/table-file.ts";
import type { Target } from "./case-columns.ts";
import { type CellFault, type ReadingRules, readFileRow } from "./file-row.ts";

/** A line of the file that is a valid row. */
export interface ReadRow {
  readonly record: FileRecord;
  readonly row: object;
  /** The id of the field partner who gets the case; null takes it away from its field partner; undefined: unchanged. */
  readonly assignTo?: string | null | undefined;
  /** Fields that were left out, because their cells could not be read. */
  readonly warnings: readonly CellFault[];
}

/** A line of the file that is not a valid row. */
export interface FaultyRow {
  readonly record: FileRecord;
  readonly faults: readonly CellFault[];
  /** The phone as it would be stored; undefined if the row has none that can be read. */
  readonly phone?: string | undefined;
}

/** The lines of the file that one import request applies. */
export interface Batch {
  /** How many rows of the file come before this batch. */
  readonly firstRow: number;
  readonly read: readonly ReadRow[];
  readonly faulty: readonly FaultyRow[];
}

/** The columns of a file, and the rules for reading its cells. */
export interface Reading extends ReadingRules {
  readonly columns: Columns<Target>;
}

/**
 * Reads a file in batches of `size` rows. Every run over the same file forms the same batches. If several rows are
 * about one loan, only the first row is valid, because it is unknown which of these rows is intended.
 * @param rowsDone the number of rows that an earlier run has processed: a multiple of `size`, or all rows
 */
export async function* batchesOf(
  file: ReadFile,
  reading: Reading,
  { size, rowsDone }: { size: number; rowsDone: number },
): AsyncGenerator<Batch> {
  const seen = new SeenLoans();
  let [firstRow, read, faulty]: [number, ReadRow[], FaultyRow[]] = [0, [], []];
  for await (const record of rowsOf(file)) {
    const one = readRecord(record, reading, seen);
    if ("row" in one) read.push(one);
    else faulty.push(one);
    const rows = read.length + faulty.length;
    if (rows < size) continue;
    if (firstRow >= rowsDone) yield { firstRow, read, faulty };
    [firstRow, read, faulty] = [firstRow + rows, [], []];
  }
  if (firstRow >= rowsDone && read.length + faulty.length > 0) yield { firstRow, read, faulty };
}

function readRecord(record: FileRecord, reading: Reading, seen: SeenLoans): ReadRow | FaultyRow {
  const { header } = reading.columns;
  const beyond = record.cells.slice(header.length).some((cell) => cellText(cell) !== "");
  if (beyond || record.cells.length < header.length) {
    const detail = `The line has ${record.cells.length} cells where the header has ${header.length}.`;
    return { record, faults: [{ column: undefined, code: "WRONG_TYPE", detail }] };
  }
  const { row: fields, faults, warnings } = readFileRow(record.cells, reading.columns, reading);
  const { assignTo, ...row } = fields as { assignTo?: string | null; sourceLoanNumber?: unknown };
  const loan = row["sourceLoanNumber"];
  const first = typeof loan === "string" ? seen.firstLine(loan.normalize("NFC"), record.line) : undefined;
  if (first !== undefined) {
    const detail = `Line ${first} is about the same loan; a file has one row for each loan.`;
    return { record, faults: [{ column: undefined, code: "DUPLICATE_IN_FILE", detail }] };
  }
  if (faults.length === 0) return { record, row, assignTo, warnings };
  const { borrowerPhone: phone } = fields as { borrowerPhone?: string };
  const isRead = phone !== undefined && /^\+\d+$/.test(phone);
  return { record, faults: [...faults, ...warnings], phone: isRead ? phone : undefined };
}
