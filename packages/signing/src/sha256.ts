// FIPS 180-4: 32 bits of the fractions of the primes' square roots (start) and cube roots (rounds).
const INITIAL_STATE = Uint32Array.of(
  0x6a09e667,
  0xbb67ae85,
  0x3c6ef372,
  0xa54ff53a,
  0x510e527f,
  0x9b05688c,
  0x1f83d9ab,
  0x5be0cd19,
);
const ROUND_CONSTANTS = Uint32Array.of(
  0x428a2f98,
  0x71374491,
  0xb5c0fbcf,
  0xe9b5dba5,
  0x3956c25b,
  0x59f111f1,
  0x923f82a4,
  0xab1c5ed5,
  0xd807aa98,
  0x12835b01,
  0x243185be,
  0x550c7dc3,
  0x72be5d74,
  0x80deb1fe,
  0x9bdc06a7,
  0xc19bf174,
  0xe49b69c1,
  0xefbe4786,
  0x0fc19dc6,
  0x240ca1cc,
  0x2de92c6f,
  0x4a7484aa,
  0x5cb0a9dc,
  0x76f988da,
  0x983e5152,
  0xa831c66d,
  0xb00327c8,
  0xbf597fc7,
  0xc6e00bf3,
  0xd5a79147,
  0x06ca6351,
  0x14292967,
  0x27b70a85,
  0x2e1b2138,
  0x4d2c6dfc,
  0x53380d13,
  0x650a7354,
  0x766a0abb,
  0x81c2c92e,
  0x92722c85,
  0xa2bfe8a1,
  0xa81a664b,
  0xc24b8b70,
  0xc76c51a3,
  0xd192e819,
  0xd6990624,
  0xf40e3585,
  0x106aa070,
  0x19a4c116,
  0x1e376c08,
  0x2748774c,
  0x34b0bcb5,
  0x391c0cb3,
  0x4ed8aa4a,
  0x5b9cca4f,
  0x682e6ff3,
  0x748f82ee,
  0x78a5636f,
  0x84c87814,
  0x8cc70208,
  0x90befffa,
  0xa4506ceb,
  0xbef9a3f7,
  0xc67178f2,
);

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
