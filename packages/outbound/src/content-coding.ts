import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, type Gunzip } from "node:zlib";

const MAX_NAME_CHARACTERS = 40;

type Decoder = Pick<Gunzip, "on" | "write" | "end" | "destroy">;

const DECODERS: Readonly<Record<string, (firstByte: number) => Decoder>> = {
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  // The standard means the format of zlib, but some servers send deflate without its header.
  deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
};

/** The coding of a body, in lower case, and whether this package decodes it. */
export interface ContentCoding {
  readonly name: string;
  readonly isKnown: boolean;
}

/**
 * Reads a Content-Encoding header. Returns undefined for a body without a coding. Names are case-insensitive, and
 * `identity` is no coding. A list of several codings is not decoded, because each of them multiplies the size.
 *
 * @example
 * contentCodingOf("GZIP"); // { name: "gzip", isKnown: true }
 * contentCodingOf("zstd"); // { name: "zstd", isKnown: false }
 */
export function contentCodingOf(header: string | undefined): ContentCoding | undefined {
  if (header === undefined) return undefined;
  const names = header.split(",").map((name) => name.trim().toLowerCase());
  const name = names.filter((one) => one !== "" && one !== "identity").join(", ");
  return name === "" ? undefined : { name: name.slice(0, MAX_NAME_CHARACTERS), isKnown: Object.hasOwn(DECODERS, name) };
}

/** What happens with the bytes of a body after decoding. `onEnd` or `onInvalid` is called at most once. */
export interface DecodedBody {
  onData(chunk: Buffer): void;
  onEnd(): void;
  onInvalid(): void;
}

/** Decodes a body that arrives in parts. */
export class BodyDecoder {
  readonly #coding: string;
  readonly #decoded: DecodedBody;
  #decoder: Decoder | undefined;

  constructor(coding: string, decoded: DecodedBody) {
    this.#coding = coding;
    this.#decoded = decoded;
  }

  write(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#decoder ??= this.#open(chunk[0]!);
    // Undici uses its buffer again, but zlib reads its input later.
    this.#decoder.write(Buffer.from(chunk));
  }

  /** The body is complete. A body without bytes is empty in every coding. */
  end(): void {
    if (this.#decoder) this.#decoder.end();
    else this.#decoded.onEnd();
  }

  /** Stops decoding. */
  destroy(): void {
    this.#decoder?.destroy();
  }

  #open(firstByte: number): Decoder {
    const decoder = DECODERS[this.#coding]!(firstByte);
    decoder.on("data", (chunk: Buffer) => this.#decoded.onData(chunk));
    decoder.on("end", () => this.#decoded.onEnd());
    decoder.on("error", () => this.#decoded.onInvalid());
    return decoder;
  }
}
