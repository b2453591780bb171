/**
 * The largest difference between a request's timestamp and the receiver's clock. contract: Signature, rule 1
 *
 * @example
 * const signedAtMs = Date.now();
 * const acceptedUntil = new Date(signedAtMs + TIMESTAMP_TOLERANCE_MS);
 */
export const TIMESTAMP_TOLERANCE_MS = 5 * 60 * 1000;

// The number of digits of the present time in each unit. In milliseconds it has 13 digits.
const UNIT_BY_LENGTH: ReadonlyMap<number, string> = new Map([
  [10, "seconds"],
  [16, "microseconds"],
  [19, "nanoseconds"],
]);

/**
 * Returns the likely unit of a timestamp by its number of digits, or undefined for milliseconds and for other lengths.
 */
export function timestampUnit(digits: string): string | undefined {
  return /^[0-9]+$/.test(digits) ? UNIT_BY_LENGTH.get(digits.length) : undefined;
}

/** Whether a timestamp is accepted; if not, the reason. `skewMs` is the receiver's clock minus the timestamp. */
export type TimestampVerdict =
  | { readonly ok: true; readonly timestampMs: number; readonly skewMs: number }
  | {
      readonly ok: false;
      readonly code: "MISSING_TIMESTAMP" | "MALFORMED_TIMESTAMP" | "TIMESTAMP_OUT_OF_RANGE";
      readonly skewMs?: number;
      readonly hint?: string;
    };

/**
 * Checks the X-Service-Timestamp header: Unix milliseconds in decimal digits, at most five minutes from `nowMs`. `skewMs`
 * is undefined if the number is too large to subtract exactly. contract: Signature, rule 1
 *
 * @example
 * const clock = checkTimestamp(headers.get(HEADERS.timestamp) ?? undefined, Date.now());
 * if (!clock.ok) throw new Error(`${clock.code}: ${clock.hint ?? "compare the clocks of both sides"}`);
 */
export function checkTimestamp(header: string | undefined, nowMs: number): TimestampVerdict {
  if (header === undefined || header === "") return { ok: false, code: "MISSING_TIMESTAMP" };
  if (!/^[0-9]+$/.test(header)) {
    return { ok: false, code: "MALFORMED_TIMESTAMP", hint: "send Unix milliseconds in decimal digits" };
  }
  const timestampMs = Number(header);
  const skewMs = nowMs - timestampMs;
  if (Math.abs(skewMs) <= TIMESTAMP_TOLERANCE_MS) return { ok: true, timestampMs, skewMs };
  const unit = timestampUnit(header);
  return {
    ok: false,
    code: "TIMESTAMP_OUT_OF_RANGE",
    ...(Number.isSafeInteger(timestampMs) && { skewMs }),
    ...(unit !== undefined && { hint: `looks like ${unit}` }),
  };
}
