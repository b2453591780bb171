import { expect, test } from "vitest";
import { keepReading } from "./kept-reading.ts";

/**
 * Creates a cached reading. By `state`, a test sets the clock and the duration of a reading, and makes readings fail or
 * hang.
 */
function aReading(options: { readonly cachedFirst?: boolean } = {}) {
  const state = { now: 0, reads: 0, tookMs: 0, fails: false, hangs: false, errors: 0 };
  const kept = keepReading(
    async () => {
      state.reads += 1;
      if (state.hangs) await new Promise(() => {});
      state.now += state.tookMs;
      if (state.fails) throw new Error("The database is unavailable.");
      return state.reads;
    },
    {
      maxAgeMs: 10_000,
      patienceMs: 20,
      uselessAfterMs: 60_000,
      onError: () => (state.errors += 1),
      now: () => state.now,
      ...options,
    },
  );
  return { state, kept };
}

test("returns the same cached reading to all callers for ten seconds", async () => {
  const { state, kept } = aReading();
  expect(await Promise.all([kept(), kept(), kept()])).toEqual([1, 1, 1]);
  state.now = 9_999;
  expect(await kept()).toBe(1);
  state.now = 10_000;
  expect(await kept()).toBe(2);
});

test("caches a reading for twenty seconds if it took one second", async () => {
  const { state, kept } = aReading();
  state.tookMs = 1_000;
  expect(await kept()).toBe(1);
  state.now = 20_999;
  expect(await kept()).toBe(1);
  state.now = 21_000;
  expect(await kept()).toBe(2);
});

test("returns the cached reading for a minute at most while new readings fail", async () => {
  const { state, kept } = aReading();
  await kept();
  state.fails = true;
  state.now = 30_000;
  expect(await kept()).toBe(1);
  state.now = 60_000;
  expect(await kept()).toBeUndefined();
  expect(state.errors).toBe(2);
  state.fails = false;
  expect(await kept()).toBe(4);
});

test("returns the cached reading while a single new reading hangs", async () => {
  const { state, kept } = aReading();
  await kept();
  state.hangs = true;
  state.now = 30_000;
  expect(await kept()).toBe(1);
  expect(await kept()).toBe(1);
  expect(state.reads).toBe(2);
});

test("returns an outdated reading at once with `cachedFirst`, and reads again", async () => {
  const { state, kept } = aReading({ cachedFirst: true });
  expect(await kept()).toBe(1);
  state.now = 30_000;
  expect(await kept()).toBe(1);
  await expect.poll(kept).toBe(2);
  state.now += 60_000;
  expect(await kept()).toBe(3);
});
