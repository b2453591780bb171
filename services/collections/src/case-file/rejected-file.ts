import { open, type FileHandle, rm } from "node:fs/promises";
import { REJECTED_COLUMNS } from "./column-names.ts";
import { markFormula } from "./formula-mark.ts";

/** A row that was not applied, as it came. */
export interface RejectedRow {
  readonly line: number;
  readonly cells: readonly string[];
  readonly because: string;
}

/**
 * The rejected rows of a file with the reasons, as a file like it: mended, it can be sent by itself. People open it in a
 * spreadsheet, so what would run there as a formula is marked; reading the file takes the marks away.
 */
export interface RejectedFile {
  readonly path: string;
  /** Its length so far; 0 while there is no file. */
  readonly bytes: number;
  /** Puts rows at `position` and to the disk; what was behind it is gone. Resolves with the new length. */
  write(position: number, rows: readonly RejectedRow[]): Promise<void>;
  close(): Promise<void>;
}

/** So that Excel reads it as UTF-8. */
const BYTE_ORDER_MARK = "\uFEFF";

/**
 * Goes on with the file at `bytes`, or begins it anew with the first rejected row; a file of an earlier run is removed.
 * @param bytes its length as it was kept; 0 to begin
 */
export async function openRejectedFile(
  path: string,
  { header, separator, bytes }: { header: readonly string[]; separator: string; bytes: number },
): Promise<RejectedFile> {
  let file = bytes > 0 ? await openFrom(path, bytes) : undefined;
  let length = file ? bytes : 0;
  if (!file) await rm(path, { force: true });
  const line = (cells: readonly string[]) =>
    `${cells.map((cell) => quoted(markFormula(cell), separator)).join(separator)}\r\n`;
  return {
    path,
    get bytes() {
      return length;
    },
    async write(position, rows) {
      if (file && length > position) await file.truncate(position);
      length = Math.min(length, position);
      if (rows.length === 0) return;
      file ??= await open(path, "w");
      const head = length === 0 ? BYTE_ORDER_MARK + line([...REJECTED_COLUMNS, ...header]) : "";
      const text = Buffer.from(head + rows.map((row) => line([String(row.line), row.because, ...row.cells])).join(""));
      await file.write(text, 0, text.length, length);
      await file.datasync();
      length += text.length;
    },
    async close() {
      await file?.close();
      if (file && length === 0) await rm(path, { force: true });
    },
  };
}

/** The file, unless it is not the one that was so long. */
async function openFrom(path: string, bytes: number): Promise<FileHandle | undefined> {
  const file = await open(path, "r+").catch(() => undefined);
  if (!file || (await file.stat()).size >= bytes) return file;
  await file.close();
  return undefined;
}

function quoted(cell: string, separator: string): string {
  return cell.includes(separator) || /["\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
