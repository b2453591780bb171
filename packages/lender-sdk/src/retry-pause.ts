/** The pauses between attempts. */
export interface RetryPauses {
  /** The first pause, before jitter. Each further pause is twice as long. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export const DEFAULT_PAUSES: RetryPauses = { firstPauseMs: 250, longestPauseMs: 10_000 };

/**
 * Returns the pause after an attempt; the first attempt is number 1. The pause doubles with each attempt up to the
 * longest pause. Its upper half is random, so that clients that failed together do not retry together. It is never
 * shorter than Retry-After. `random` is in [0, 1).
 */
export function pauseAfter(
  attempt: number,
  retryAfterMs: number | undefined,
  random: number,
  { firstPauseMs, longestPauseMs }: RetryPauses,
): number {
  const ceiling = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1));
  const jittered = ceiling / 2 + (ceiling / 2) * random;
  // Adds jitter to Retry-After too: otherwise all clients that were rejected together would retry together.
  return retryAfterMs === undefined ? jittered : Math.max(jittered, retryAfterMs + jittered / 4);
}

/** Parses a Retry-After header, in seconds or as a date, to milliseconds from `nowMs`; undefined if it is neither. */
export function retryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null || header.trim() === "") return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
