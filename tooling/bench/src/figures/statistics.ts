/** What several rounds measured: the middle one, and how far the others lie apart. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The spread of at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), min: quantile(sorted, 0), max: quantile(sorted, 1) };
}

/** The value below which the given part of the sorted values lies, between two of them in proportion. */
export function quantile(sorted: ArrayLike<number>, part: number): number {
  if (sorted.length === 0) throw new Error("Nothing was measured.");
  const place = part * (sorted.length - 1);
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place - Math.floor(place));
}
