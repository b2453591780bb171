import { expect, test } from "vitest";
import { firstAttempt, replayed, retry } from "../../tests/leased-delivery.ts";
import { RepeatQuota } from "./repeat-quota.ts";

/** Creates the quota of a lane. The lane sends up to `limit` requests at a time, and has leased `repeats` retries that it has not sent yet. */
function openQuota(limit: number, repeats = 0) {
  const concurrency = { limit };
  const ready = { repeats };
  return { quota: new RepeatQuota(concurrency, ready), concurrency, ready };
}

test.each([
  { limit: 8, leased: 3, isOpen: true, room: 1 },
  { limit: 8, leased: 4, isOpen: false, room: 0 },
  { limit: 5, leased: 2, isOpen: true, room: 1 },
  { limit: 5, leased: 3, isOpen: false, room: 0 },
  { limit: 1, leased: 0, isOpen: true, room: 1 },
  { limit: 2, leased: 4, isOpen: false, room: -3 },
])("with $leased repeats leased under a limit of $limit, there is room for $room more", (facts) => {
  const { quota } = openQuota(facts.limit, facts.leased);
  expect({ isOpen: quota.isOpen, room: quota.room }).toEqual({ isOpen: facts.isOpen, room: facts.room });
});

test("the quota of repeats counts retries and replays under way, but no first attempts", () => {
  const { quota } = openQuota(4);
  quota.start(firstAttempt("a"));
  quota.start(retry("b"));
  expect([quota.mayStart, quota.isOpen]).toEqual([true, true]);
  quota.start(replayed("c"));
  expect([quota.mayStart, quota.isOpen]).toEqual([false, false]);
  quota.end(firstAttempt("a"));
  expect(quota.mayStart).toBe(false);
  quota.end(retry("b"));
  expect([quota.mayStart, quota.isOpen]).toEqual([true, true]);
});

test("repeats that wait for a slot count as leased, and not as under way", () => {
  const { quota } = openQuota(4, 2);
  expect([quota.mayStart, quota.isOpen]).toEqual([true, false]);
});

test("after a lease of only repeats, the next lease is limited to the room for repeats, but is at least one delivery", () => {
  const { quota, ready } = openQuota(8, 1);
  expect(quota.countToLease(32)).toBe(32);
  quota.noteLease({ leased: [retry("a"), replayed("b")], firstAttemptsOnly: false, givenBack: 0 });
  expect(quota.countToLease(32)).toBe(3);
  expect(quota.countToLease(2)).toBe(2);
  ready.repeats = 4;
  expect(quota.countToLease(32)).toBe(1);
  quota.noteLease({ leased: [retry("a"), firstAttempt("b")], firstAttemptsOnly: false, givenBack: 0 });
  expect(quota.countToLease(32)).toBe(32);
  quota.noteLease({ leased: [], firstAttemptsOnly: false, givenBack: 0 });
  expect(quota.countToLease(32)).toBe(32);
});

test.each([
  { firstAttemptsOnly: true, givenBack: 0 },
  { firstAttemptsOnly: false, givenBack: 2 },
])(
  "the quota of repeats asks for one new scan as soon as there is room for the repeats that a lease skipped: %o",
  (skipped) => {
    const { quota, ready } = openQuota(4, 2);
    quota.noteLease({ leased: [], ...skipped });
    expect(quota.takeSkipped()).toBe(false);
    ready.repeats = 1;
    expect(quota.takeSkipped()).toBe(true);
    expect(quota.takeSkipped()).toBe(false);
  },
);

test("the quota of repeats asks for a new scan only if a lease has skipped a repeat", () => {
  const { quota } = openQuota(4);
  quota.noteLease({ leased: [retry("a")], firstAttemptsOnly: false, givenBack: 0 });
  expect(quota.takeSkipped()).toBe(false);
});
