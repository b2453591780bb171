import { withPadding } from "./sha-padding.ts";

const BLOCK_BYTES = 64;
const INITIAL_STATE = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
const ROUND_CONSTANTS = [0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6];

/** SHA-1 in plain JavaScript: 20 bytes. Only to recognise what somebody else has signed with it. */
export function sha1(message: Uint8Array): Uint8Array {
  const view = withPadding(message, BLOCK_BYTES);
  const schedule = new Int32Array(80);
  const state = Int32Array.from(INITIAL_STATE);
  for (let offset = 0; offset < view.byteLength; offset += BLOCK_BYTES) {
    for (let index = 0; index < 16; index += 1) schedule[index] = view.getInt32(offset + index * 4);
    for (let index = 16; index < 80; index += 1) {
      const mixed = at(schedule, index - 3) ^ at(schedule, index - 8) ^ at(schedule, index - 14);
      schedule[index] = rotate(mixed ^ at(schedule, index - 16), 1);
    }
    compress(state, schedule);
  }
  const digest = new DataView(new ArrayBuffer(20));
  for (const [index, word] of state.entries()) digest.setInt32(index * 4, word);
  return new Uint8Array(digest.buffer);
}

function compress(state: Int32Array, schedule: Int32Array): void {
  let [a, b, c, d, e] = state as unknown as [number, number, number, number, number];
  for (let round = 0; round < 80; round += 1) {
    const quarter = Math.floor(round / 20);
    const added = at(ROUND_CONSTANTS, quarter) + at(schedule, round) + e;
    const next = (rotate(a, 5) + mixOf(quarter, b, c, d) + added) | 0;
    [e, d, c, b, a] = [d, c, rotate(b, 30), a, next];
  }
  for (const [index, word] of [a, b, c, d, e].entries()) state[index] = at(state, index) + word;
}

function mixOf(quarter: number, b: number, c: number, d: number): number {
  if (quarter === 0) return (b & c) | (~b & d);
  return quarter === 2 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function at(words: ArrayLike<number>, index: number): number {
  return words[index] as number;
}
