import type { Tx } from "@collections/entities";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, rm } from "node:fs/promises";
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
  /** Undefined while there is no file. */
  readonly path: string | undefined;
  /** The length of the file so far; 0 while there is no file. */
  readonly bytes: number;
  /**
   * Deletes everything from `position` on, and writes the rows there. Resolves when the rows are on the disk. `tx` is the
   * transaction that records the position, for a file that is stored in the database.
   */
  write(position: number, rows: readonly RejectedRow[], tx?: Tx): Promise<void>;
  close(): Promise<void>;
}

/** The header of the original file and its separator. */
export interface RejectedFormat {
  readonly header: readonly string[];
  readonly separator: string;
}

/** Where the rejected rows of an import go. */
export interface RejectedPlace {
  /** Opens a file. `bytes` is the length that an earlier run has recorded; 0 starts a new file. */
  open(format: RejectedFormat & { readonly bytes: number }): Promise<RejectedFile>;
  /** Returns the path of the file of an earlier run. */
  earlierPath(): Promise<string | undefined>;
}

/** Writes rejected rows to a file beside the imported file. */
export function besideFile(path: string): RejectedPlace {
  return { open: (format) => openRejectedFile(path, format), earlierPath: () => latestRejectedPath(path) };
}

/** Returns the first line of a file of rejected rows. */
export function rejectedHead({ header, separator }: RejectedFormat): string {
  return BYTE_ORDER_MARK + csvLine([...REJECTED_COLUMNS, ...header], separator);
}

/** Returns rejected rows as lines of their file. */
export function rejectedLines({ separator }: Pick<RejectedFormat, "separator">, rows: readonly RejectedRow[]): string {
  return rows.map((row) => csvLine([String(row.line), row.because, ...row.cells], separator)).join("");
}

/** How many files of rejected rows one file may have. */
const MOST_FILES = 10_000;

/**
 * Returns the file of rejected rows of an earlier run at `bytes`, to continue it. If `bytes` is 0, or there is no such
 * file, the first rejected row creates a new file. Its name is not yet taken: an existing file or link is never written
 * to.
 * @param original the path of the file that is imported
 * @param bytes the recorded length of the file; 0 to start a new file
 */
export async function openRejectedFile(
  original: string,
  { header, separator, bytes }: RejectedFormat & { readonly bytes: number },
): Promise<RejectedFile> {
  const head = rejectedHead({ header, separator });
  let created = bytes > 0 ? await openEarlier(original, { bytes, head }) : undefined;
  let length = created ? bytes : 0;
  return {
    get path() {
      return length > 0 ? created?.path : undefined;
    },
    get bytes() {
      return length;
    },
    async write(position, rows) {
      if (created && length > position) await created.file.truncate(position);
      length = Math.min(length, position);
      if (rows.length === 0) return;
      created ??= await createFile(original);
      const written = rejectedLines({ separator }, rows);
      const text = Buffer.from(length === 0 ? head + written : written);
      await created.file.write(text, 0, text.length, length);
      await created.file.datasync();
      length += text.length;
    },
    async close() {
      await created?.file.close();
      if (created && length === 0) await rm(created.path, { force: true });
    },
  };
}

/** Returns the path of the newest `….rejected.csv` beside `original`. Returns undefined if there is none. */
async function latestRejectedPath(original: string): Promise<string | undefined> {
  let latest: string | undefined;
  for (let count = 1; count <= MOST_FILES; count += 1) {
    const path = rejectedPath(original, count);
    if (!(await lstat(path).catch(() => undefined))) break;
    latest = path;
  }
  return latest;
}

interface OpenFile {
  readonly path: string;
  readonly file: FileHandle;
}

function rejectedPath(original: string, count: number): string {
  return `${original.replace(/\.(?:csv|xlsx)$/i, "")}.rejected${count === 1 ? "" : `-${count}`}.csv`;
}

async function createFile(original: string): Promise<OpenFile> {
  for (let count = 1; count <= MOST_FILES; count += 1) {
    const path = rejectedPath(original, count);
    try {
      return { path, file: await open(path, "wx") };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  throw new Error(`${original} has ${MOST_FILES} files of rejected rows: delete those that are no longer needed.`);
}

/** Opens the newest file of rejected rows, if an earlier run with the same header wrote at least `bytes` bytes to it. */
async function openEarlier(
  original: string,
  { bytes, head }: { readonly bytes: number; readonly head: string },
): Promise<OpenFile | undefined> {
  const path = await latestRejectedPath(original);
  if (path === undefined) return undefined;
  const file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW).catch(() => undefined);
  if (!file) return undefined;
  const stat = await file.stat();
  // A file with a second name may be another file of the operator.
  if (stat.isFile() && stat.nlink === 1 && stat.size >= bytes) {
    const expected = Buffer.from(head);
    const { buffer } = await file.read(Buffer.alloc(expected.length), 0, expected.length, 0);
    if (buffer.equals(expected)) return { path, file };
  }
  await file.close();
  return undefined;
}
