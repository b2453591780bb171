/** The longest delay that a receiver may ask for. contract: Retry and suspension */
export const MAX_RETRY_AFTER_MS = 3_600_000;

const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Reads the header Retry-After of an answer, in seconds or as an HTTP date. Returns milliseconds, at most an hour. Returns
 * undefined for a header that cannot be read, and for a time that has passed. A date is a time of the receiver's clock, so
 * it is compared with the header Date, which is of the same clock. Without a Date, it is compared with `now`.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>> | undefined, now: Date): number | undefined {
  const header = headers?.["retry-after"];
  if (header === undefined) return undefined;
  const date = headers?.["date"]?.trim() ?? "";
  const waitMs = parseWait(header.trim(), HTTP_DATE.test(date) ? new Date(date) : now);
  return waitMs > 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : undefined;
}

/** Returns the wait in milliseconds, or NaN for a text that cannot be read. */
function parseWait(text: string, now: Date): number {
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  return HTTP_DATE.test(text) ? Date.parse(text) - now.getTime() : Number.NaN;
}
