import { createHash } from "node:crypto";
import { mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileBytes } from "../file-bytes.ts";
import { FileNotReadableError } from "../file-text.ts";
import { openSheet } from "./workbook.ts";
import type { WorkbookLimits } from "./zip-parts.ts";

/** The sheet of a workbook from which the rows of a file come. */
export interface SourceSheet {
  readonly name: string;
  /** The names of all sheets of the workbook. */
  readonly sheets: readonly string[];
  /** SHA-256 of the workbook, as 64 hex digits. */
  readonly sha256: string;
}

const MIB = 1_048_576;
const MOST_FILE_BYTES = 100 * MIB;
const LIMITS: WorkbookLimits = { sheetBytes: 1_024 * MIB, partBytes: 128 * MIB, columns: 1_000 };
const WRITTEN_AT_A_TIME = 262_144;

/** The limits of an uploaded workbook. Its sheet may be 1,000 times larger than the packed file. */
export const UPLOAD_LIMITS: WorkbookLimits = { sheetBytes: 256 * MIB, partBytes: 64 * MIB, columns: 1_000 };

/**
 * Copies a sheet of a workbook as CSV in UTF-8 to a private file, which has no name any more when this function returns. The
 * number of a line is the number of its row. Only a few rows are in memory at a time. Throws FileNotReadableError.
 */
export async function workbookAsText(
  path: string,
  wanted: string | undefined,
  limits: WorkbookLimits = LIMITS,
): Promise<{ bytes: FileBytes; sheet: SourceSheet }> {
  if ((await stat(path)).size > MOST_FILE_BYTES) {
    throw new FileNotReadableError(
      `The workbook has more than ${MOST_FILE_BYTES / MIB} MiB. Save the sheet as "CSV UTF-8".`,
    );
  }
  const workbook = await readFile(path);
  const sheet = await openSheet(workbook, wanted, limits);
  const folder = await mkdtemp(join(tmpdir(), "collections-sheet-"));
  try {
    const copy = join(folder, "sheet.csv");
    await using file = await open(copy, "wx", 0o600);
    let [line, width, text] = [1, 0, ""];
    for await (const rows of sheet.rows()) {
      for (const { row, cells } of rows) {
        // A row of a sheet ends with its last value, but a record has all cells of the header.
        width = Math.max(width, cells.length);
        text += `${"\n".repeat(row - line)}${cells.map(quoted).join(",")}${",".repeat(width - cells.length)}\n`;
        line = row + 1;
        if (text.length < WRITTEN_AT_A_TIME) continue;
        await file.write(text);
        text = "";
      }
    }
    if (line === 1) throw new FileNotReadableError(emptyText(sheet));
    await file.write(text);
    const sha256 = createHash("sha256").update(workbook).digest("hex");
    return { bytes: await FileBytes.open(copy), sheet: { name: sheet.name, sheets: sheet.sheets, sha256 } };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function quoted(cell: string): string {
  return /[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function emptyText({ name, sheets }: { readonly name: string; readonly sheets: readonly string[] }): string {
  const others = sheets.filter((one) => one !== name).map((one) => `"${one}"`);
  return `The sheet "${name}" is empty.${others.length > 0 ? ` Choose one of the others by --sheet: ${others.join(", ")}.` : ""}`;
}
