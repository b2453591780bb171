import { promisify } from "node:util";
import { type Entry, fromBuffer, type ZipFile } from "yauzl";
import { FileNotReadableError } from "../file-text.ts";

/** The limits of a workbook. They bound the memory and the time of reading it. */
export interface WorkbookLimits {
  /** The largest number of bytes of the sheet, when it is unpacked. */
  readonly sheetBytes: number;
  /** The same for each other part, such as the texts that all sheets share. */
  readonly partBytes: number;
  readonly columns: number;
}

const MOST_PARTS = 10_000;
const openZip = promisify((bytes: Buffer, callback: (error: Error | null, zip: ZipFile) => void) =>
  fromBuffer(bytes, { lazyEntries: true }, callback),
);

/** The parts of a workbook, which is a ZIP archive, by their paths. */
export class ZipParts {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#zip = zip;
    this.#entries = entries;
  }

  /** Throws FileNotReadableError. */
  static async open(bytes: Buffer): Promise<ZipParts> {
    try {
      const zip = await openZip(bytes);
      const entries = new Map<string, Entry>();
      await new Promise<void>((resolve, reject) => {
        zip.on("entry", (entry: Entry) => {
          entries.set(entry.fileName.toLowerCase(), entry);
          if (entries.size > MOST_PARTS) reject(new Error(`it has more than ${MOST_PARTS} parts`));
          else zip.readEntry();
        });
        zip.once("end", resolve);
        zip.once("error", reject);
        zip.readEntry();
      });
      return new ZipParts(zip, entries);
    } catch (error) {
      throw damaged(error);
    }
  }

  has(path: string): boolean {
    return this.#entries.has(path.toLowerCase());
  }

  /** Yields the unpacked bytes of a part. Throws FileNotReadableError if they are more than `mostBytes`. */
  async *bytesOf(path: string, mostBytes: number): AsyncGenerator<Buffer> {
    const entry = this.#entries.get(path.toLowerCase());
    if (!entry) throw new FileNotReadableError(`The workbook is incomplete: it has no ${path}. Save it again.`);
    // The size in the archive may be wrong, so the bytes are counted, too.
    if (entry.uncompressedSize > mostBytes) throw tooLarge(path, mostBytes);
    const open = promisify(this.#zip.openReadStream.bind(this.#zip) as OpenStream);
    try {
      const stream = await open(entry);
      let count = 0;
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        count += chunk.length;
        if (count > mostBytes) throw tooLarge(path, mostBytes);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof FileNotReadableError ? error : damaged(error);
    }
  }
}

type OpenStream = (entry: Entry, callback: (error: Error | null, stream: NodeJS.ReadableStream) => void) => void;

/** Returns the error about an archive or an XML part that cannot be read. */
export function damaged(error: unknown): FileNotReadableError {
  const why = (error as Error).message.split("\n", 1)[0];
  return new FileNotReadableError(
    `The workbook is damaged (${why}). Open it in a spreadsheet, and save it again as .xlsx.`,
  );
}

function tooLarge(path: string, mostBytes: number): FileNotReadableError {
  const most = `${Math.round(mostBytes / 1_048_576).toLocaleString("en")} MiB`;
  return new FileNotReadableError(
    `The workbook is too large: ${path} unpacks to more than ${most}. Remove what is not needed, or save the sheet as "CSV UTF-8".`,
  );
}
