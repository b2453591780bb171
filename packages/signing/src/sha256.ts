// FIPS 180-4: 32 bits of the fractions of the primes' square roots (start) and cube roots (rounds).
const INITIAL_STATE = words("6a09e667 bb67ae85 3c6ef372 a54ff53a 510e527f 9b05688c 1f83d9ab 5be0cd19");
const ROUND_CONSTANTS = words(`
  428a2f98 71374491 b5c0fbcf e9b5dba5 3956c25b 59f111f1 923f82a4 ab1c5ed5 d807aa98 12835b01 243185be 550c7dc3
  72be5d74 80deb1fe 9bdc06a7 c19bf174 e49b69c1 efbe4786 0fc19dc6 240ca1cc 2de92c6f 4a7484aa 5cb0a9dc 76f988da
  983e5152 a831c66d b00327c8 bf597fc7 c6e00bf3 d5a79147 06ca6351 14292967 27b70a85 2e1b2138 4d2c6dfc 53380d13
  650a7354 766a0abb 81c2c92e 92722c85 a2bfe8a1 a81a664b c24b8b70 c76c51a3 d192e819 d6990624 f40e3585 106aa070
  19a4c116 1e376c08 2748774c 34b0bcb5 391c0cb3 4ed8aa4a 5b9cca4f 682e6ff3 748f82ee 78a5636f 84c87814 8cc70208
  90befffa a4506ceb bef9a3f7 c67178f2`);

const BLOCK_BYTES = 64;
const LENGTH_OFFSET = 56;

/** SHA-256 in plain synchronous JavaScript, for runtimes whose only digest is asynchronous. */
export class Sha256 {
  readonly #state: Uint32Array;
  readonly #pending = new Uint8Array(BLOCK_BYTES);
  readonly #schedule = new Uint32Array(BLOCK_BYTES);
  #byteLength: number;

  private constructor(state: Uint32Array, byteLength: number) {
    this.#state = state.slice();
    this.#byteLength = byteLength;
  }

  static start(): Sha256 {
    return new Sha256(INITIAL_STATE, 0);
  }

  /** A second hash that continues from here. Only at a block boundary, where nothing is pending. */
  fork(): Sha256 {
    if (this.#byteLength % BLOCK_BYTES !== 0) throw new Error("A hash forks at a block boundary only.");
    return new Sha256(this.#state, this.#byteLength);
  }

  /** Adds bytes. Whole blocks are read where they lie; only the rest of less than a block is kept. */
  update(bytes: Uint8Array): this {
    const pendingBytes = this.#byteLength % BLOCK_BYTES;
    this.#byteLength += bytes.length;
    let offset = 0;
    if (pendingBytes > 0) {
      offset = Math.min(BLOCK_BYTES - pendingBytes, bytes.length);
      this.#pending.set(bytes.subarray(0, offset), pendingBytes);
      if (pendingBytes + offset < BLOCK_BYTES) return this;
      this.#compress(this.#pending, 0);
    }
    for (; offset + BLOCK_BYTES <= bytes.length; offset += BLOCK_BYTES) this.#compress(bytes, offset);
    this.#pending.set(bytes.subarray(offset));
    return this;
  }

  /** Ends the message and answers its 32 bytes. The hash is used up. */
  digest(): Uint8Array {
    const messageBits = this.#byteLength * 8;
    const pendingBytes = this.#byteLength % BLOCK_BYTES;
    const paddingBytes = (pendingBytes < LENGTH_OFFSET ? LENGTH_OFFSET : LENGTH_OFFSET + BLOCK_BYTES) - pendingBytes;
    const ending = new DataView(new ArrayBuffer(paddingBytes + BLOCK_BYTES - LENGTH_OFFSET));
    ending.setUint8(0, 0x80);
    ending.setBigUint64(paddingBytes, BigInt(messageBits));
    this.update(new Uint8Array(ending.buffer));
    const digest = new DataView(new ArrayBuffer(32));
    for (const [index, word] of this.#state.entries()) digest.setUint32(index * 4, word);
    return new Uint8Array(digest.buffer);
  }

  #compress(bytes: Uint8Array, offset: number): void {
    const schedule = this.#schedule;
    fillSchedule(schedule, bytes, offset);
    let [a, b, c, d, e, f, g, h] = this.#state as unknown as State;
    for (let round = 0; round < 64; round += 1) {
      const choice = (e & f) ^ (~e & g);
      const added = at(schedule, round) + at(ROUND_CONSTANTS, round);
      const first = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + added) | 0;
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) this.#state[index] = at(this.#state, index) + word;
  }
}

type State = [a: number, b: number, c: number, d: number, e: number, f: number, g: number, h: number];

function fillSchedule(schedule: Uint32Array, bytes: Uint8Array, offset: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, BLOCK_BYTES);
  for (let index = 0; index < 16; index += 1) schedule[index] = view.getUint32(index * 4);
  for (let index = 16; index < 64; index += 1) {
    const early = at(schedule, index - 15);
    const late = at(schedule, index - 2);
    const earlyMix = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const lateMix = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    schedule[index] = at(schedule, index - 16) + earlyMix + at(schedule, index - 7) + lateMix;
  }
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

function at(words: Uint32Array, index: number): number {
  return words[index] as number;
}

function words(hex: string): Uint32Array {
  return Uint32Array.from(hex.trim().split(/\s+/), (word) => Number.parseInt(word, 16));
}
