import { setTimeout as delay } from "node:timers/promises";

export interface KeptReadingOptions {
  /** What was read is good for so long, and for twenty times as long as reading it took. */
  readonly maxAgeMs: number;
  /** How long to wait for a fresh one. */
  readonly patienceMs: number;
  /** After that it is not told any more. */
  readonly uselessAfterMs: number;
  readonly onError: (error: unknown) => void;
  /** A monotonic clock. */
  readonly now?: () => number;
}

/** So that reading takes at most a twentieth of the time. */
const READING_SHARE = 20;

/**
 * Remembers an expensive reading for everybody who asks, one reading at a time. While a fresh one takes too long or
 * fails the last one is told, and undefined when that is too old.
 */
export function keepReading<Value>(read: () => Promise<Value>, options: KeptReadingOptions) {
  const { maxAgeMs, patienceMs, uselessAfterMs, onError, now = () => performance.now() } = options;
  let last: { readonly value: Value; readonly at: number; readonly goodUntil: number } | undefined;
  let reading: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    const startedAt = now();
    try {
      const value = await read();
      const at = now();
      last = { value, at, goodUntil: at + Math.max(maxAgeMs, (at - startedAt) * READING_SHARE) };
    } catch (error) {
      onError(error);
    } finally {
      reading = undefined;
    }
  }

  return async (): Promise<Value | undefined> => {
    if (last && now() < last.goodUntil) return last.value;
    reading ??= refresh();
    const enough = new AbortController();
    await Promise.race([reading, delay(patienceMs, undefined, { signal: enough.signal }).catch(() => {})]);
    enough.abort();
    return last && now() < last.at + uselessAfterMs ? last.value : undefined;
  };
}
