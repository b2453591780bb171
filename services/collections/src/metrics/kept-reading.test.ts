import { expect, test } from "vitest";
import { keepReading } from "./kept-reading.ts";

/** Creates a kept reading whose clock, duration and failures the test sets in `state`. */
function aReading() {
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
    },
  );
  return { state, kept };
}

test("returns the same reading for ten seconds, and shares it among concurrent callers", async () => {
  const { state, kept } = aReading();
  expect(await Promise.all([kept(), kept(), kept()])).toEqual([1, 1, 1]);
  state.now = 9_999;
  expect(await kept()).toBe(1);
  state.now = 10_000;
  expect(await kept()).toBe(2);
});

test("keeps a reading for twenty seconds if reading took one second", async () => {
  const { state, kept } = aReading();
  state.tookMs = 1_000;
  expect(await kept()).toBe(1);
  state.now = 20_999;
  expect(await kept()).toBe(1);
  state.now = 21_000;
  expect(await kept()).toBe(2);
});

test("returns the last reading for a minute while new readings fail, then undefined", async () => {
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

test("returns the last reading while a new reading hangs, and does not start another", async () => {
  const { state, kept } = aReading();
  await kept();
  state.hangs = true;
  state.now = 30_000;
  expect(await kept()).toBe(1);
  expect(await kept()).toBe(1);
  expect(state.reads).toBe(2);
});
