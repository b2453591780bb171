import { setImmediate as settled } from "node:timers/promises";
import { expect, test } from "vitest";
import { createFreshCache } from "./fresh-cache.ts";

const MAX_AGE_MS = 800;

/** A cache over answers that the test gives by hand, on a clock that the test moves. */
function aCache(limits: { maxPresent?: number; maxAbsent?: number } = {}) {
  const questions: { key: string; answer: (value?: string) => void; fail: (error: Error) => void }[] = [];
  const clock = { nowMs: 0 };
  const cache = createFreshCache<string>({
    load(key) {
      const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
      questions.push({ key, answer: (value) => resolve(value), fail: reject });
      return promise;
    },
    maxAgeMs: MAX_AGE_MS,
    maxPresent: limits.maxPresent ?? 100,
    maxAbsent: limits.maxAbsent ?? 100,
    clockMs: () => clock.nowMs,
  });
  return { cache, questions, clock };
}

/** Asks for a key of which nothing is known and answers. */
async function learn({ cache, questions }: ReturnType<typeof aCache>, key: string, value?: string) {
  const got = cache.get(key);
  questions.at(-1)!.answer(value);
  return got;
}

test("a hundred callers share one question, and the next finds the answer without asking", async () => {
  const { cache, questions } = aCache();
  const callers = Array.from({ length: 100 }, () => cache.get("a"));
  expect(questions).toHaveLength(1);
  questions[0]!.answer("value");
  expect(new Set(await Promise.all(callers))).toEqual(new Set(["value"]));
  expect(await cache.get("a")).toBe("value");
  expect(questions).toHaveLength(1);
});

test("an answer older than the limit is never given again", async () => {
  const { cache, questions, clock } = aCache();
  await learn({ cache, questions, clock }, "a", "old");
  clock.nowMs = MAX_AGE_MS;
  const got = cache.get("a");
  questions[1]!.answer("new");
  expect(await got).toBe("new");
});

test("the age counts from the question, not from the answer", async () => {
  const { cache, questions, clock } = aCache();
  const slow = cache.get("a");
  clock.nowMs = MAX_AGE_MS - 1;
  questions[0]!.answer("old");
  expect(await slow).toBe("old");
  clock.nowMs = MAX_AGE_MS;
  const got = cache.get("a");
  questions[1]!.answer("new");
  expect(await got).toBe("new");
});

test("a question without an answer is joined no longer than an answer would count", async () => {
  const { cache, questions, clock } = aCache();
  const hanging = cache.get("a");
  clock.nowMs = MAX_AGE_MS;
  const got = cache.get("a");
  expect(questions).toHaveLength(2);
  questions[1]!.answer("new");
  expect(await got).toBe("new");
  questions[0]!.answer("old");
  expect(await hanging).toBe("old");
  expect(await cache.get("a"), "a late answer replaces no newer one").toBe("new");
});

test("a value in use is asked for again at half its age, and meanwhile nobody waits", async () => {
  const { cache, questions, clock } = aCache();
  await learn({ cache, questions, clock }, "a", "old");
  clock.nowMs = MAX_AGE_MS / 2;
  expect(await Promise.all([cache.get("a"), cache.get("a")])).toEqual(["old", "old"]);
  expect(questions).toHaveLength(2);
  questions[1]!.answer("new");
  await settled();
  expect(await cache.get("a")).toBe("new");
});

test("a failed question is told to whoever waits and not remembered; an early one that fails disturbs nobody", async () => {
  const { cache, questions, clock } = aCache();
  const failing = cache.get("a");
  questions[0]!.fail(new Error("no database"));
  await expect(failing).rejects.toThrow("no database");
  await learn({ cache, questions, clock }, "a", "value");
  clock.nowMs = MAX_AGE_MS / 2;
  expect(await cache.get("a")).toBe("value");
  questions[2]!.fail(new Error("no database"));
  await settled();
  expect(await cache.get("a")).toBe("value");
  expect(questions, "who comes next asks again").toHaveLength(4);
  clock.nowMs = MAX_AGE_MS;
  await expect(learn({ cache, questions, clock }, "a", "back")).resolves.toBe("back");
});

test("an absent key is remembered as absent until it is too old", async () => {
  const { cache, questions, clock } = aCache();
  expect(await learn({ cache, questions, clock }, "a")).toBeUndefined();
  clock.nowMs = MAX_AGE_MS - 1;
  expect(await cache.get("a")).toBeUndefined();
  expect(questions).toHaveLength(1);
  clock.nowMs = MAX_AGE_MS;
  expect(await learn({ cache, questions, clock }, "a", "made meanwhile")).toBe("made meanwhile");
});

test("a flood of absent keys pushes out older absent ones and no present one", async () => {
  const setting = aCache({ maxAbsent: 2 });
  await learn(setting, "present", "value");
  for (const key of ["x1", "x2", "x3"]) await learn(setting, key);
  expect(setting.questions).toHaveLength(4);
  expect(await setting.cache.get("present")).toBe("value");
  expect(await setting.cache.get("x3")).toBeUndefined();
  expect(setting.questions).toHaveLength(4);
  await learn(setting, "x1");
  expect(setting.questions).toHaveLength(5);
});

test("at most as many values are kept as allowed, the last ones", async () => {
  const setting = aCache({ maxPresent: 2 });
  for (const key of ["a", "b", "c"]) await learn(setting, key, key);
  expect(await Promise.all([setting.cache.get("b"), setting.cache.get("c")])).toEqual(["b", "c"]);
  expect(setting.questions).toHaveLength(3);
  await learn(setting, "a", "again");
  expect(setting.questions).toHaveLength(4);
});
