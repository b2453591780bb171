import { expect, test } from "vitest";
import { ConcurrencyLimit } from "./concurrency-limit.ts";

const now = new Date("2026-11-21T04:00:00Z");
const delivered = { outcome: "delivered", answer: null, ownFault: false } as const;
const unanswered = { outcome: "failed", answer: null, ownFault: false } as const;
const answered = (status: number) => ({ ...unanswered, answer: { status, headers: {}, body: "" } });

test("the limit doubles with each round of 2xx answers, up to its maximum", () => {
  const concurrency = new ConcurrencyLimit(32);
  concurrency.seeRecovery(now);
  const rounds = Array.from({ length: 7 }, () => {
    const { limit } = concurrency;
    for (let answer = 0; answer < limit; answer += 1) concurrency.learn(delivered);
    return limit;
  });
  expect(rounds).toEqual([1, 2, 4, 8, 16, 32, 32]);
});

test("five attempts without an answer lower a limit of 32 to one", () => {
  const concurrency = new ConcurrencyLimit(32);
  for (let answer = 0; answer < 32; answer += 1) concurrency.learn(delivered);
  const limits = Array.from({ length: 6 }, () => {
    concurrency.learn(unanswered);
    return concurrency.limit;
  });
  expect(limits).toEqual([16, 8, 4, 2, 1, 1]);
});

test.each([500, 503, 429])("an answer with status %i halves the limit", (status) => {
  const concurrency = new ConcurrencyLimit(32);
  concurrency.learn(answered(status));
  expect(concurrency.limit).toBe(2);
});

test.each([400, 404, 410, 302])("an answer with status %i does not change the limit", (status) => {
  const concurrency = new ConcurrencyLimit(32);
  concurrency.learn(answered(status));
  expect(concurrency.limit).toBe(4);
});

test("a fault of our own network and an abandoned attempt do not change the limit", () => {
  const concurrency = new ConcurrencyLimit(32);
  concurrency.learn({ ...unanswered, ownFault: true });
  concurrency.learn({ ...unanswered, outcome: "abandoned" });
  expect(concurrency.limit).toBe(4);
});

test("a recovery resets the limit to one, and the same recovery does not reset the limit again", () => {
  const concurrency = new ConcurrencyLimit(32);
  concurrency.seeRecovery(null);
  for (let answer = 0; answer < 10; answer += 1) concurrency.learn(delivered);
  concurrency.seeRecovery(now);
  expect(concurrency.limit).toBe(1);
  concurrency.learn(delivered);
  concurrency.seeRecovery(now);
  expect(concurrency.limit).toBe(2);
});

test("the limit starts at the maximum if the maximum is below four", () => {
  expect(new ConcurrencyLimit(2).limit).toBe(2);
});
