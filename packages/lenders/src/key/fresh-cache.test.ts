import { setImmediate as settled } from "node:timers/promises";
import { expect, test } from "vitest";
import { createFreshCache } from "./fresh-cache.ts";

const MAX_AGE_MS = 800;

/** Creates a cache. The test controls its clock and its loads. */
function aCache(limits: { maxPresent?: number; maxAbsent?: number } = {}) {
  const loads: { key: string; succeed: (value?: string) => void; fail: (error: Error) => void }[] = [];
  const clock = { nowMs: 0 };
  const cache = createFreshCache<string>({
    load(key) {
      const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
      loads.push({ key, succeed: (value) => resolve(value), fail: reject });
      return promise;
    },
    maxAgeMs: MAX_AGE_MS,
    maxPresent: limits.maxPresent ?? 100,
    maxAbsent: limits.maxAbsent ?? 100,
    clockMs: () => clock.nowMs,
  });
  return { cache, loads, clock };
}

/** Requests a key that is not cached, and lets its load return `value`. */
async function learn({ cache, loads }: ReturnType<typeof aCache>, key: string, value?: string) {
  const got = cache.get(key);
  loads.at(-1)!.succeed(value);
  return got;
}

test("a hundred concurrent callers share one load, and the next caller gets the cached value", async () => {
  const { cache, loads } = aCache();
  const callers = Array.from({ length: 100 }, () => cache.get("a"));
  expect(loads).toHaveLength(1);
  loads[0]!.succeed("value");
  expect(new Set(await Promise.all(callers))).toEqual(new Set(["value"]));
  expect(await cache.get("a")).toBe("value");
  expect(loads).toHaveLength(1);
});

test("a value older than the maximum age is not returned", async () => {
  const { cache, loads, clock } = aCache();
  await learn({ cache, loads, clock }, "a", "old");
  clock.nowMs = MAX_AGE_MS;
  const got = cache.get("a");
  loads[1]!.succeed("new");
  expect(await got).toBe("new");
});

test("the age of a value counts from the start of its load, not from its end", async () => {
  const { cache, loads, clock } = aCache();
  const slow = cache.get("a");
  clock.nowMs = MAX_AGE_MS - 1;
  loads[0]!.succeed("old");
  expect(await slow).toBe("old");
  clock.nowMs = MAX_AGE_MS;
  const got = cache.get("a");
  loads[1]!.succeed("new");
  expect(await got).toBe("new");
});

test("callers do not wait for a load that started longer than the maximum age ago", async () => {
  const { cache, loads, clock } = aCache();
  const hanging = cache.get("a");
  clock.nowMs = MAX_AGE_MS;
  const got = cache.get("a");
  expect(loads).toHaveLength(2);
  loads[1]!.succeed("new");
  expect(await got).toBe("new");
  loads[0]!.succeed("old");
  expect(await hanging).toBe("old");
  expect(await cache.get("a"), "a late load does not replace a newer value").toBe("new");
});

test("a value in use is reloaded in the background at half of its maximum age", async () => {
  const { cache, loads, clock } = aCache();
  await learn({ cache, loads, clock }, "a", "old");
  clock.nowMs = MAX_AGE_MS / 2;
  expect(await Promise.all([cache.get("a"), cache.get("a")])).toEqual(["old", "old"]);
  expect(loads).toHaveLength(2);
  loads[1]!.succeed("new");
  await settled();
  expect(await cache.get("a")).toBe("new");
});

test("a failed load is not cached, and only callers without a cached value get its error", async () => {
  const { cache, loads, clock } = aCache();
  const failing = cache.get("a");
  loads[0]!.fail(new Error("no database"));
  await expect(failing).rejects.toThrow("no database");
  await learn({ cache, loads, clock }, "a", "value");
  clock.nowMs = MAX_AGE_MS / 2;
  expect(await cache.get("a")).toBe("value");
  loads[2]!.fail(new Error("no database"));
  await settled();
  expect(await cache.get("a")).toBe("value");
  expect(loads, "the next get loads again").toHaveLength(4);
  clock.nowMs = MAX_AGE_MS;
  await expect(learn({ cache, loads, clock }, "a", "back")).resolves.toBe("back");
});

test("an absent key is cached as absent until the maximum age", async () => {
  const { cache, loads, clock } = aCache();
  expect(await learn({ cache, loads, clock }, "a")).toBeUndefined();
  clock.nowMs = MAX_AGE_MS - 1;
  expect(await cache.get("a")).toBeUndefined();
  expect(loads).toHaveLength(1);
  clock.nowMs = MAX_AGE_MS;
  expect(await learn({ cache, loads, clock }, "a", "created later")).toBe("created later");
});

test("many absent keys evict older absent keys, but no present key", async () => {
  const setting = aCache({ maxAbsent: 2 });
  await learn(setting, "present", "value");
  for (const key of ["x1", "x2", "x3"]) await learn(setting, key);
  expect(setting.loads).toHaveLength(4);
  expect(await setting.cache.get("present")).toBe("value");
  expect(await setting.cache.get("x3")).toBeUndefined();
  expect(setting.loads).toHaveLength(4);
  await learn(setting, "x1");
  expect(setting.loads).toHaveLength(5);
});

test("the cache keeps the last `maxPresent` values", async () => {
  const setting = aCache({ maxPresent: 2 });
  for (const key of ["a", "b", "c"]) await learn(setting, key, key);
  expect(await Promise.all([setting.cache.get("b"), setting.cache.get("c")])).toEqual(["b", "c"]);
  expect(setting.loads).toHaveLength(3);
  await learn(setting, "a", "again");
  expect(setting.loads).toHaveLength(4);
});
