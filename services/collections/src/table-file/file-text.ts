import type { FileBytes } from "./file-bytes.ts";

/** Encodings of a file. A byte order mark overrides the given encoding. */
export const ENCODINGS = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** The file cannot be read as text or as CSV. The message says where the problem is and what to do. */
export class FileNotReadableError extends Error {
  override readonly name = "FileNotReadableError";
  readonly code = "FILE_NOT_READABLE";
}

const MARKS: readonly (readonly [Encoding, readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];
/** The first bytes of files that are not CSV. */
const OTHER_FORMATS: readonly (readonly [string, readonly number[]])[] = [
  ["a compressed file", [0x1f, 0x8b]],
  ["a PDF", [0x25, 0x50, 0x44, 0x46]],
];
const HEAD_BYTES = 4_096;
/** Old workbooks, and workbooks with a password. */
const OLE_FILE = [0xd0, 0xcf, 0x11, 0xe0];

/** Returns the encoding of the byte order mark, or else `given`, or else UTF-8. Throws FileNotReadableError. */
export async function encodingOf(bytes: FileBytes, given: Encoding | undefined): Promise<Encoding> {
  const head = await headOf(bytes);
  const begins = ([, mark]: readonly [string, readonly number[]]) => mark.every((byte, index) => head[index] === byte);
  const other = OTHER_FORMATS.find(begins);
  if (other) {
    throw new FileNotReadableError(
      `This is ${other[0]}. Save the table as an Excel workbook (.xlsx) or as "CSV UTF-8".`,
    );
  }
  if (OLE_FILE.every((byte, index) => head[index] === byte)) throw new FileNotReadableError(await oleText(bytes));
  if (/^\s*<(?:!doctype|html|table|\?xml)/i.test(head.toString("latin1", 0, 200))) {
    throw new FileNotReadableError(
      'This is a web page or XML, although its name may end in .xls. Open it in a spreadsheet, and save it as an Excel workbook (.xlsx) or as "CSV UTF-8".',
    );
  }
  const encoding = MARKS.find(begins)?.[0] ?? given;
  if (encoding !== undefined) return encoding;
  if (head.includes(0)) {
    throw new FileNotReadableError(
      "The file contains bytes with the value 0, as UTF-16 files do. Add --encoding utf-16le or utf-16be.",
    );
  }
  return "utf-8";
}

/** Says which kind of OLE file this is. Its directory names its parts in UTF-16. */
async function oleText(bytes: FileBytes): Promise<string> {
  const encrypted = Buffer.from("EncryptedPackage", "utf16le");
  let end = Buffer.alloc(0);
  for await (const block of bytes.blocks()) {
    const piece = Buffer.concat([end, block]);
    if (piece.includes(encrypted)) return "The workbook has a password. Remove the password, and save it again.";
    end = piece.subarray(-encrypted.length);
  }
  return 'This is an old Excel workbook (.xls). Save it as an Excel workbook (.xlsx) or as "CSV UTF-8".';
}

async function headOf(bytes: FileBytes): Promise<Buffer> {
  for await (const block of bytes.blocks()) return Buffer.from(block.subarray(0, HEAD_BYTES));
  return Buffer.alloc(0);
}

/**
 * Yields the text of the file in pieces, without the byte order mark, with a line feed at the end of each line. Throws
 * FileNotReadableError at the first bytes that are invalid in the encoding.
 */
export async function* textOf(bytes: FileBytes, encoding: Encoding): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  let [lines, held] = [1, ""];
  for await (const chunk of bytes.blocks()) {
    const text = held + decoded(decoder, chunk, encoding, lines);
    // The line feed that follows this carriage return may be in the next chunk.
    held = text.endsWith("\r") ? "\r" : "";
    const piece = (held === "" ? text : text.slice(0, -1)).replaceAll(/\r\n?/g, "\n");
    lines += countLines(piece);
    yield piece;
  }
  const rest = held + decoded(decoder, undefined, encoding, lines);
  yield rest.replace("\r", "\n");
}

function decoded(decoder: TextDecoder, chunk: Buffer | undefined, encoding: Encoding, line: number): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
  } catch {
    const lenient = new TextDecoder(encoding).decode(chunk).split("\uFFFD", 1)[0]!;
    const at = line + countLines(lenient.replaceAll(/\r\n?/g, "\n"));
    const hint = encoding === "utf-8" ? " Excel often saves files in Windows-1252: try --encoding windows-1252." : "";
    throw new FileNotReadableError(`line ${at}: these bytes are not ${encoding.toUpperCase()}.${hint}`);
  }
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
