/** Returns numbers from 0 up to 1; the same sequence for the same seed (mulberry32). */
export type Random = () => number;

export function seededRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Returns the seed of one part of a run. Each part has its own seed, so that a fault behaves the same whether it runs
 * alone or together with others.
 */
export function seedOf(seed: number, part: string): number {
  let mixed = seed | 0;
  for (const character of part) mixed = Math.imul(mixed ^ character.codePointAt(0)!, 0x01000193);
  return mixed;
}

/** Returns a random item. */
export function oneOf<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new TypeError("Cannot choose from an empty list.");
  return item;
}
