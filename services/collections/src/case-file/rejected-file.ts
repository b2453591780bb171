import { open, type FileHandle, rm } from "node:fs/promises";
import { REJECTED_COLUMNS } from "./column-names.ts";
import { BYTE_ORDER_MARK, csvLine } from "./csv-line.ts";

/** A rejected row with its original cells. */
export interface RejectedRow {
  readonly line: number;
  readonly cells: readonly string[];
  readonly because: string;
}

/**
 * A file with the rejected rows and the reasons. It has the columns of the original, so it can be corrected and
 * imported. People open it in a spreadsheet, so a cell that would run as a formula is marked. Importing the file
 * removes the marks.
 */
export interface RejectedFile {
  readonly path: string;
  /** The length of the file so far; 0 while there is no file. */
  readonly bytes: number;
  /** Deletes everything from `position` on, and writes the rows there. Resolves when the rows are on the disk. */
  write(position: number, rows: readonly RejectedRow[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the file of an earlier run to continue at `bytes`. If `bytes` is 0, or the file is shorter than `bytes`,
 * deletes the file. The first rejected row then creates a new file.
 * @param bytes the recorded length of the file; 0 to start a new file
 */
export async function openRejectedFile(
  path: string,
  { header, separator, bytes }: { header: readonly string[]; separator: string; bytes: number },
): Promise<RejectedFile> {
  let file = bytes > 0 ? await openFrom(path, bytes) : undefined;
  let length = file ? bytes : 0;
  if (!file) await rm(path, { force: true });
  const line = (cells: readonly string[]) => csvLine(cells, separator);
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

/** Opens the file for writing if it has at least `bytes` bytes; returns undefined otherwise. */
async function openFrom(path: string, bytes: number): Promise<FileHandle | undefined> {
  const file = await open(path, "r+").catch(() => undefined);
  if (!file || (await file.stat()).size >= bytes) return file;
  await file.close();
  return undefined;
}
