import { setTimeout as delay } from "node:timers/promises";

export interface KeptReadingOptions {
  /**
   * How long a cached value is returned before it is read again. A value that is slow to read is cached longer: see
   * KEPT_DURATIONS.
   */
  readonly maxAgeMs: number;
  /** How long a caller waits for a new value before it gets the cached one. */
  readonly patienceMs: number;
  /** The age from which a cached value is no longer returned. */
  readonly uselessAfterMs: number;
  /** Whether a caller gets an outdated cached value at once, while a new one is read. Default false. */
  readonly cachedFirst?: boolean;
  readonly onError: (error: unknown) => void;
  /** A monotonic clock. */
  readonly now?: () => number;
}

/**
 * A value is cached for at least this many times as long as it took to read, so that at most a twentieth of the time is
 * spent on reading.
 */
const KEPT_DURATIONS = 20;

/**
 * Caches a value that is expensive to read, for all callers. At most one read runs at a time. While it takes too long
 * or fails, callers get the cached value, or undefined if that is too old.
 */
export function keepReading<Value>(read: () => Promise<Value>, options: KeptReadingOptions) {
  const { maxAgeMs, patienceMs, uselessAfterMs, cachedFirst = false, onError } = options;
  const { now = () => performance.now() } = options;
  let last: { readonly value: Value; readonly at: number; readonly goodUntil: number } | undefined;
  let reading: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    const startedAt = now();
    try {
      const value = await read();
      const at = now();
      last = { value, at, goodUntil: at + Math.max(maxAgeMs, (at - startedAt) * KEPT_DURATIONS) };
    } catch (error) {
      onError(error);
    } finally {
      reading = undefined;
    }
  }

  const cached = () => (last && now() < last.at + uselessAfterMs ? last.value : undefined);

  return async (): Promise<Value | undefined> => {
    if (last && now() < last.goodUntil) return last.value;
    const outdated = cachedFirst ? cached() : undefined;
    reading ??= refresh();
    if (outdated !== undefined) return outdated;
    const waiting = new AbortController();
    await Promise.race([reading, delay(patienceMs, undefined, { signal: waiting.signal }).catch(() => {})]);
    waiting.abort();
    return cached();
  };
}
