import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { InvalidConfigError } from "../settings/config.ts";

/**
 * Appends one line to a file in a single write, and resolves when the line is on disk. Several workers on one machine
 * may append to the same file. The write begins with a newline, in case a killed worker left a half-written line.
 * Therefore there is a blank line between two anchors.
 */
export async function appendToAnchorFile(path: string, line: string): Promise<void> {
  const file = await open(path, "a", 0o644);
  try {
    const bytes = Buffer.from(`\n${line}\n`);
    const { size } = await file.stat();
    const { bytesWritten } = await file.write(bytes);
    if (bytesWritten < bytes.length) {
      throw new Error(`Only ${bytesWritten} of ${bytes.length} bytes were written: is the disk full?`);
    }
    await file.sync();
    if (size === 0) await syncDirectory(dirname(path));
  } finally {
    await file.close();
  }
}

/** Flushes the directory to disk. Otherwise a new file may be missing after a power failure. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * Checks, before the service starts, that this process can append to the file. Throws InvalidConfigError if it cannot.
 */
export async function checkAnchorFile(path: string): Promise<void> {
  try {
    const file = await open(path, "a", 0o644);
    const isFile = (await file.stat()).isFile();
    await file.close();
    if (isFile) return;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new InvalidConfigError([
      `LEDGER_ANCHOR: cannot append to ${path} (${code}): ${REMEDIES[code ?? ""] ?? OTHER}`,
    ]);
  }
  throw new InvalidConfigError([`LEDGER_ANCHOR: ${path} is not a file`]);
}

const OTHER = "give a path to which this process can write";
const REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: "create the folder of this file first",
  EACCES: "give the user of this process write permission",
  EPERM: "give the user of this process write permission",
  EISDIR: "this path is a folder; give the path of a file in the folder",
  EROFS: "the file system is read-only",
};
