/** The longest delay that a receiver may ask for. contract: Retry and suspension */
export const MAX_RETRY_AFTER_MS = 3_600_000;

const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Reads a Retry-After header, in seconds or as an HTTP date. Returns milliseconds from `now`, at most an hour. Returns
 * undefined for a header that cannot be read, and for a time that has passed.
 */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  const waitMs = parseWait(header.trim(), now);
  return waitMs > 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : undefined;
}

/** Returns the wait in milliseconds, or NaN for a text that cannot be read. */
function parseWait(text: string, now: Date): number {
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  return HTTP_DATE.test(text) ? Date.parse(text) - now.getTime() : Number.NaN;
}
