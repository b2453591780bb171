const EMPTY = Buffer.alloc(0);

/**
 * Collects a body up to a limit. It copies the bytes of each chunk, because a slice would keep the whole buffer of the
 * network read in memory. A sender of one-byte chunks could then make this process hold many times the limit.
 */
export class CappedBody {
  readonly #maxBytes: number;
  #room = EMPTY;
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds a chunk. Returns false if the body is now longer than the limit; the bytes up to the limit are kept. */
  add(chunk: Buffer): boolean {
    const wanted = this.#length + chunk.length;
    if (wanted > this.#room.length) this.#grow(wanted);
    this.#length += chunk.copy(this.#room, this.#length);
    return wanted <= this.#maxBytes;
  }

  bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  #grow(wanted: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(wanted, this.#room.length * 2), this.#maxBytes));
    this.#room.copy(grown, 0, 0, this.#length);
    this.#room = grown;
  }
}
