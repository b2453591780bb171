/** The median of several rounds, and their smallest and largest value. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Returns the median, the smallest and the largest of the values. There must be at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), min: quantile(sorted, 0), max: quantile(sorted, 1) };
}

/**
 * Returns the value below which the given part (0 to 1) of the sorted values lies, interpolated between the two nearest
 * values.
 */
export function quantile(sorted: ArrayLike<number>, part: number): number {
  if (sorted.length === 0) throw new Error("There are no values to take a quantile of.");
  const place = part * (sorted.length - 1);
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place - Math.floor(place));
}
