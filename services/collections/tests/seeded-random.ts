/** Mulberry32, from 0 up to 1: the same numbers for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of a test that draws: of the environment, to repeat a run, else another one each time. */
export function seedOfRun(): number {
  return Number(process.env["SEED"] ?? Date.now() % 1_000_000);
}
