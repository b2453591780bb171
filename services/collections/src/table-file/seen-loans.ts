import { createHash } from "node:crypto";

const FIRST_SLOTS = 1 << 14;
const MOST_FILLED = 0.6;

/**
 * Remembers the first line of each loan in a file. A file of a million loans takes little memory: a hash table stores
 * only a hash of 8 bytes and the line of each loan. The table, with its free slots, takes 20 to 40 bytes per loan. The
 * probability that any two of a million loans have the same hash is about 1 in 18 million.
 */
export class SeenLoans {
  #hashes = new BigUint64Array(FIRST_SLOTS);
  #lines = new Uint32Array(FIRST_SLOTS);
  #count = 0;

  /** Returns the first line about the loan. If this line is the first, remembers it and returns undefined. */
  firstLine(loan: string, line: number): number | undefined {
    const hash = createHash("sha1").update(loan).digest().readBigUInt64LE() | 1n;
    const slot = slotOf(this.#hashes, hash);
    if (this.#hashes[slot] === hash) return this.#lines[slot];
    this.#hashes[slot] = hash;
    this.#lines[slot] = line;
    this.#count += 1;
    if (this.#count > this.#hashes.length * MOST_FILLED) this.#grow();
    return undefined;
  }

  #grow(): void {
    const [hashes, lines] = [this.#hashes, this.#lines];
    this.#hashes = new BigUint64Array(hashes.length * 2);
    this.#lines = new Uint32Array(lines.length * 2);
    for (const [index, hash] of hashes.entries()) {
      if (hash === 0n) continue;
      const slot = slotOf(this.#hashes, hash);
      this.#hashes[slot] = hash;
      this.#lines[slot] = lines[index]!;
    }
  }
}

/**
 * Returns the index of the slot that contains the hash, or else of the free slot where the hash belongs. A free slot
 * contains 0.
 */
function slotOf(hashes: BigUint64Array, hash: bigint): number {
  const last = hashes.length - 1;
  let slot = Number((hash >> 1n) & BigInt(last));
  while (hashes[slot] !== 0n && hashes[slot] !== hash) slot = (slot + 1) & last;
  return slot;
}
