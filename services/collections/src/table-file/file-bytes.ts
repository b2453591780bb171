import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";

/** The file has other bytes than in its first reading, so nothing more of the file is read. */
export class FileChangedError extends Error {
  override readonly name = "FileChangedError";
  readonly code = "FILE_CHANGED";

  constructor() {
    super(
      "The file was changed after it was read the first time. What the file has now was not applied. Run the command again.",
    );
  }
}

const BLOCK_BYTES = 262_144;

/**
 * The bytes of a file that is read several times. Each reading yields the same bytes: the file stays open, so that a new
 * file of the same name does not matter, and the first reading stores a digest of each block, which later readings
 * compare before they yield the block.
 */
export class FileBytes implements AsyncDisposable {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #digests: string[] = [];
  #sha256: string | undefined;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  static async open(path: string): Promise<FileBytes> {
    return new FileBytes(path, await open(path, "r"));
  }

  /** SHA-256 of all bytes, as 64 hex digits. Known when the file has been read to its end once. */
  get sha256(): string {
    if (this.#sha256 === undefined) throw new Error("The file has not been read to its end.");
    return this.#sha256;
  }

  /** Yields the bytes from the beginning. A block is only valid until the next one. Throws FileChangedError. */
  async *blocks(): AsyncGenerator<Buffer> {
    const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
    const whole = this.#sha256 === undefined ? createHash("sha256") : undefined;
    for (let index = 0; ; index += 1) {
      const block = buffer.subarray(0, await this.#fill(buffer, index * BLOCK_BYTES));
      if (block.length > 0) {
        this.#compare(index, block);
        whole?.update(block);
        yield block;
      }
      if (block.length === BLOCK_BYTES) continue;
      const count = index + (block.length > 0 ? 1 : 0);
      if (count < this.#digests.length) throw new FileChangedError();
      this.#sha256 ??= whole?.digest("hex");
      return;
    }
  }

  /** Reads all bytes again. Throws FileChangedError if they are others than in the first reading. */
  async verify(): Promise<void> {
    for await (const _ of this.blocks());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }

  #compare(index: number, block: Buffer): void {
    const digest = createHash("sha256").update(block).digest("base64");
    if (index === this.#digests.length && this.#sha256 === undefined) this.#digests.push(digest);
    else if (this.#digests[index] !== digest) throw new FileChangedError();
  }

  async #fill(buffer: Buffer, position: number): Promise<number> {
    let filled = 0;
    while (filled < buffer.length) {
      const { bytesRead } = await this.#handle.read(buffer, filled, buffer.length - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  }
}
