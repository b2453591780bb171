/** How long to wait between attempts. */
export interface RetryPauses {
  /** Around the first pause; each further one is twice as long. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export const DEFAULT_PAUSES: RetryPauses = { firstPauseMs: 250, longestPauseMs: 10_000 };

/**
 * The pause after the attempt of this number (from 1): doubling, anywhere in its upper half, so that clients that failed
 * together do not come back together; never shorter than what the service asked for. `random` is in [0, 1).
 */
export function pauseAfter(
  attempt: number,
  retryAfterMs: number | undefined,
  random: number,
  { firstPauseMs, longestPauseMs }: RetryPauses,
): number {
  const ceiling = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1));
  const wished = ceiling / 2 + (ceiling / 2) * random;
  // What was asked for is varied too: else everybody who was refused together is back together.
  return retryAfterMs === undefined ? wished : Math.max(wished, retryAfterMs + wished / 4);
}

/** A Retry-After header, of seconds or a date, in milliseconds from `nowMs`; undefined for anything else. */
export function retryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null || header.trim() === "") return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
