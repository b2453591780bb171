import type { CaseMove } from "@collections/flows";
import { COLUMN_NAMES, ColumnNames } from "./column-names.ts";
import type { Columns } from "./columns.ts";
import { type CaseFile, type FileRecord, rowsOf } from "./file-records.ts";
import { cellText, readAssigneeCell } from "./file-row.ts";
import { SeenLoans } from "./seen-loans.ts";

/** A field of a file of moves. */
export type MoveField = "loan" | "assignTo";

/** The columns of a file of moves. */
export const MOVE_COLUMNS = new ColumnNames<MoveField>({
  names: {
    loan: ["sourceLoanNumber", ...COLUMN_NAMES.sourceLoanNumber],
    assignTo: ["Assign To", "Field Partner", "Field Partner ID", "fieldPartnerId"],
  },
  ambiguous: {},
  many: new Set(),
  hasMetadata: false,
  required: () => ["loan", "assignTo"],
});

/** A line of a file of moves: the move, or why the line cannot be read. */
export type MoveLine = { readonly record: FileRecord } & (
  | { readonly move: CaseMove }
  | { readonly loan: string | null; readonly code: string; readonly detail: string }
);

/** Yields the lines of a file of moves. `none` in the column `assignTo` takes the case away from its field partner. */
export async function* movesOf(file: CaseFile, columns: Columns<MoveField>): AsyncGenerator<MoveLine> {
  const seen = new SeenLoans();
  for await (const record of rowsOf(file)) yield { record, ...readMove(record, columns, seen) };
}

function readMove({ line, cells }: FileRecord, { header, used }: Columns<MoveField>, seen: SeenLoans) {
  const cellOf = (field: MoveField) => cellText(cells[used.find(({ target }) => target === field)!.index]);
  const loan = cellOf("loan");
  const assignTo = cellOf("assignTo");
  const faulty = (code: string, detail: string) => ({ loan: loan === "" ? null : loan, code, detail });
  if (cells.length !== header.length) {
    return faulty("WRONG_TYPE", `The line has ${cells.length} cells where the header has ${header.length}.`);
  }
  if (loan === "") return faulty("REQUIRED", "The line has no loan number.");
  const first = seen.firstLine(loan, line);
  if (first !== undefined) return faulty("DUPLICATE_LOAN", `Line ${first} has the same loan.`);
  const assignee = readAssigneeCell(assignTo);
  if ("fault" in assignee) return faulty("FIELD_PARTNER_NOT_FOUND", assignee.fault);
  return { move: { loan, fieldPartnerId: assignee.value } };
}
