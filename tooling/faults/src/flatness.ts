/** The values that are measured at one moment during a load. */
export interface Sample {
  readonly atS: number;
  readonly serverMiB: number;
  readonly workerMiB: number;
  readonly serverFiles: number;
  readonly workerFiles: number;
  readonly connections: number;
  /** Events that are published but not delivered yet. */
  readonly waiting: number;
  readonly confirmations: number;
  readonly confirmP50Ms: number;
  readonly confirmP95Ms: number;
  readonly listP50Ms: number;
}

/**
 * The median of a measure in the first third of the samples (`first`) and in the last third (`last`), and the upper
 * limit for `last` (`most`).
 */
export interface Flatness {
  readonly measure: string;
  readonly first: number;
  readonly last: number;
  readonly most: number;
  readonly isFlat: boolean;
}

interface Measure {
  readonly name: string;
  /** Undefined if the sample has no value, because nothing was answered in that time. */
  readonly of: (sample: Sample) => number | undefined;
  /**
   * How much a measured value may grow: by this share of its first median, or by the number `more` if that is larger.
   */
  readonly share: number;
  readonly more: number;
}

const MEASURES: readonly Measure[] = [
  { name: "server memory, MiB", of: ({ serverMiB }) => serverMiB, share: 0.25, more: 48 },
  { name: "worker memory, MiB", of: ({ workerMiB }) => workerMiB, share: 0.25, more: 48 },
  { name: "server open files", of: ({ serverFiles }) => serverFiles, share: 0.1, more: 8 },
  { name: "worker open files", of: ({ workerFiles }) => workerFiles, share: 0.1, more: 8 },
  { name: "database connections", of: ({ connections }) => connections, share: 0, more: 4 },
  { name: "events waiting", of: ({ waiting }) => waiting, share: 1, more: 100 },
  { name: "confirmation p50, ms", of: ({ confirmP50Ms }) => confirmP50Ms || undefined, share: 0.5, more: 5 },
  { name: "confirmation p95, ms", of: ({ confirmP95Ms }) => confirmP95Ms || undefined, share: 1, more: 20 },
  { name: "list p50, ms", of: ({ listP50Ms }) => listP50Ms || undefined, share: 0.5, more: 10 },
];
const FEWEST = 6;

/**
 * Compares the last third of the samples with the first third, for each measure. Medians tolerate single samples that a
 * checkpoint disturbed. A measure with fewer than 6 values counts as grown. Throws RangeError for fewer than 6 samples.
 */
export function flatnessOf(samples: readonly Sample[]): Flatness[] {
  if (samples.length < FEWEST)
    throw new RangeError(`flatnessOf needs at least ${FEWEST} samples, got ${samples.length}.`);
  return MEASURES.map(({ name, of, share, more }) => {
    const values = samples.map(of).filter((value) => value !== undefined);
    const third = Math.max(1, Math.floor(values.length / 3));
    const first = quantile(values.slice(0, third), 0.5);
    const last = quantile(values.slice(-third), 0.5);
    const most = first * (1 + share) + more;
    return { measure: name, first, last, most, isFlat: values.length >= FEWEST && last <= most };
  });
}

/** Returns the value below which this share of the values lies; 0 if there are no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
