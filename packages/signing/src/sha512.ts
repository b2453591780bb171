import { withPadding } from "./sha-padding.ts";

const BLOCK_BYTES = 128;
const ROUNDS = 80;
const WORD = 64n;

// FIPS 180-4: 64 bits of the fractions of the primes' square roots (start) and cube roots (rounds). Halves of 32 bits
// stand one after the other, high before low, because JavaScript calculates with 32 bits.
const PRIMES = primes(ROUNDS);
const INITIAL_STATE = halves(PRIMES.slice(0, 8).map((prime) => root(prime << (2n * WORD), 2n)));
const ROUND_CONSTANTS = halves(PRIMES.map((prime) => root(prime << (3n * WORD), 3n)));

/** SHA-512 in plain JavaScript: 64 bytes. Only to recognise what somebody else has signed with it. */
export function sha512(message: Uint8Array): Uint8Array {
  const view = withPadding(message, BLOCK_BYTES);
  const state = INITIAL_STATE.slice();
  const schedule = new Int32Array(2 * ROUNDS);
  for (let offset = 0; offset < view.byteLength; offset += BLOCK_BYTES) {
    for (let half = 0; half < 32; half += 1) schedule[half] = view.getInt32(offset + half * 4);
    for (let round = 16; round < ROUNDS; round += 1) extend(schedule, round);
    compress(state, schedule);
  }
  const digest = new DataView(new ArrayBuffer(64));
  for (const [index, half] of state.entries()) digest.setInt32(index * 4, half);
  return new Uint8Array(digest.buffer);
}

function extend(schedule: Int32Array, round: number): void {
  const [earlyHigh, earlyLow] = [at(schedule, 2 * (round - 15)), at(schedule, 2 * (round - 15) + 1)];
  const [lateHigh, lateLow] = [at(schedule, 2 * (round - 2)), at(schedule, 2 * (round - 2) + 1)];
  add(schedule, 2 * round, [
    [at(schedule, 2 * (round - 16)), at(schedule, 2 * (round - 16) + 1)],
    [at(schedule, 2 * (round - 7)), at(schedule, 2 * (round - 7) + 1)],
    [
      turned(earlyHigh, earlyLow, 1) ^ turned(earlyHigh, earlyLow, 8) ^ (earlyHigh >>> 7),
      turned(earlyLow, earlyHigh, 1) ^ turned(earlyLow, earlyHigh, 8) ^ shifted(earlyLow, earlyHigh, 7),
    ],
    [
      turned(lateHigh, lateLow, 19) ^ turned(lateLow, lateHigh, 29) ^ (lateHigh >>> 6),
      turned(lateLow, lateHigh, 19) ^ turned(lateHigh, lateLow, 29) ^ shifted(lateLow, lateHigh, 6),
    ],
  ]);
}

function compress(state: Int32Array, schedule: Int32Array): void {
  // The eight words a to h lie behind one another; each round they move on by one.
  const words = state.slice();
  const [first, sum] = [new Int32Array(2), new Int32Array(2)];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [aHigh, aLow, bHigh, bLow, cHigh, cLow] = words as unknown as number[] as Six;
    const [eHigh, eLow, fHigh, fLow, gHigh, gLow] = words.subarray(8) as unknown as number[] as Six;
    add(first, 0, [
      [at(words, 14), at(words, 15)],
      [
        turned(eHigh, eLow, 14) ^ turned(eHigh, eLow, 18) ^ turned(eLow, eHigh, 9),
        turned(eLow, eHigh, 14) ^ turned(eLow, eHigh, 18) ^ turned(eHigh, eLow, 9),
      ],
      [(eHigh & fHigh) ^ (~eHigh & gHigh), (eLow & fLow) ^ (~eLow & gLow)],
      [at(ROUND_CONSTANTS, 2 * round), at(ROUND_CONSTANTS, 2 * round + 1)],
      [at(schedule, 2 * round), at(schedule, 2 * round + 1)],
    ]);
    add(sum, 0, [
      [at(first, 0), at(first, 1)],
      [
        turned(aHigh, aLow, 28) ^ turned(aLow, aHigh, 2) ^ turned(aLow, aHigh, 7),
        turned(aLow, aHigh, 28) ^ turned(aHigh, aLow, 2) ^ turned(aHigh, aLow, 7),
      ],
      [(aHigh & bHigh) ^ (aHigh & cHigh) ^ (bHigh & cHigh), (aLow & bLow) ^ (aLow & cLow) ^ (bLow & cLow)],
    ]);
    words.copyWithin(2, 0, 14);
    add(words, 8, [
      [at(words, 8), at(words, 9)],
      [at(first, 0), at(first, 1)],
    ]);
    words.set(sum);
  }
  for (let word = 0; word < 16; word += 2) {
    add(state, word, [
      [at(state, word), at(state, word + 1)],
      [at(words, word), at(words, word + 1)],
    ]);
  }
}

type Six = [number, number, number, number, number, number];
type Halves = readonly [high: number, low: number];

/** Writes the sum of 64-bit numbers, modulo 2^64. */
function add(into: Int32Array, index: number, terms: readonly Halves[]): void {
  let [high, low] = [0, 0];
  for (const [termHigh, termLow] of terms) {
    high += termHigh >>> 0;
    low += termLow >>> 0;
  }
  into[index] = high + Math.floor(low / 2 ** 32);
  into[index + 1] = low;
}

/** The half that ends up where `half` was when the 64 bits are turned right; below 32 bits. */
function turned(half: number, other: number, bits: number): number {
  return (half >>> bits) | (other << (32 - bits));
}

/** The low half of 64 bits that are shifted right. */
function shifted(low: number, high: number, bits: number): number {
  return (low >>> bits) | (high << (32 - bits));
}

function at(words: Int32Array, index: number): number {
  return words[index] as number;
}

function primes(count: number): bigint[] {
  const found: bigint[] = [];
  for (let candidate = 2n; found.length < count; candidate += 1n) {
    if (found.every((prime) => candidate % prime !== 0n)) found.push(candidate);
  }
  return found;
}

/** The whole part of the root, by halving the interval. */
function root(value: bigint, degree: bigint): bigint {
  let [low, high] = [0n, 1n << 80n];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (middle ** degree <= value) low = middle;
    else high = middle;
  }
  return low;
}

function halves(values: readonly bigint[]): Int32Array {
  return Int32Array.from(
    values.flatMap((value) => [Number((value >> 32n) & 0xffffffffn), Number(value & 0xffffffffn)]),
  );
}
