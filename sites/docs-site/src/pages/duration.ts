const UNITS: readonly [name: string, ms: number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

/** Returns a duration in words, in the largest unit with a count of at least two: `3 hours`, `90 seconds`. */
export function duration(ms: number): string {
  for (const [name, unitMs] of UNITS) {
    const count = Math.floor(Math.abs(ms) / unitMs);
    if (count >= 2) return `${count} ${name}s`;
  }
  return `${Math.abs(Math.round(ms))} ms`;
}
