import type { CaseMove } from "@collections/flows";
import { cellText } from "../table-file/cell-text.ts";
import { readIdentityCell } from "../table-file/cells.ts";
import { ColumnNames } from "../table-file/column-names.ts";
import type { Columns } from "../table-file/columns.ts";
import type { FileRecord } from "../table-file/csv-records.ts";
import { SeenLoans } from "../table-file/seen-loans.ts";
import type { SurveyedFile } from "../table-file/survey.ts";
import { rowsOf } from "../table-file/table-file.ts";
import { COLUMN_NAMES } from "./case-columns.ts";
import { readAssigneeCell } from "./file-row.ts";

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
  loan: "loan",
  kinds: { loan: "identity" },
  hasMetadata: false,
  required: () => ["loan", "assignTo"],
});

/** A line of a file of moves: the move, or why the line cannot be read. */
export type MoveLine = { readonly record: FileRecord } & (
  | { readonly move: CaseMove }
  | { readonly loan: string | null; readonly code: string; readonly detail: string }
);

/** Yields the lines of a file of moves. `none` in the column `assignTo` takes the case away from its field partner. */
export async function* movesOf({ file, columns, readings }: SurveyedFile<MoveField>): AsyncGenerator<MoveLine> {
  const seen = new SeenLoans();
  const isWhole = readings.get(columns.used.find(({ target }) => target === "loan")!.index)?.isWhole;
  for await (const record of rowsOf(file)) yield { record, ...readMove(record, columns, { seen, isWhole }) };
}

function readMove(
  { line, cells }: FileRecord,
  { header, used }: Columns<MoveField>,
  { seen, isWhole }: { readonly seen: SeenLoans; readonly isWhole: boolean | undefined },
) {
  const cellOf = (field: MoveField) => cellText(cells[used.find(({ target }) => target === field)!.index]);
  const identity = readIdentityCell(cellOf("loan"), isWhole);
  const loan = "value" in identity ? identity.value : "";
  const assignTo = cellOf("assignTo");
  const faulty = (code: string, detail: string) => ({ loan: loan === "" ? null : loan, code, detail });
  if (cells.length !== header.length) {
    return faulty("WRONG_TYPE", `The line has ${cells.length} cells where the header has ${header.length}.`);
  }
  if ("fault" in identity) return faulty("WRONG_TYPE", identity.fault);
  if (loan === "") return faulty("REQUIRED", "The line has no loan number.");
  const first = seen.firstLine(loan.normalize("NFC"), line);
  if (first !== undefined) return faulty("DUPLICATE_LOAN", `Line ${first} has the same loan.`);
  const assignee = readAssigneeCell(assignTo);
  if ("fault" in assignee) return faulty("FIELD_PARTNER_NOT_FOUND", assignee.fault);
  return { move: { loan, fieldPartnerId: assignee.value } };
}
