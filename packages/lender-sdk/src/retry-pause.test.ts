import { expect, test } from "vitest";
import { pauseAfter, retryAfter } from "./retry-pause.ts";

const PAUSES = { firstPauseMs: 100, longestPauseMs: 1_000 };
const NOW_MS = Date.parse("2026-11-20T09:41:07Z");

test.each([
  [1, undefined, 0, 50],
  [1, undefined, 1, 100],
  [3, undefined, 1, 400],
  [20, undefined, 1, 1_000],
  [1, 2_000, 0, 2_012.5],
  [1, 10, 1, 100],
])(
  "after attempt %i with Retry-After %s and random value %s the pause is %s ms",
  (attempt, retryAfterMs, random, pauseMs) => {
    expect(pauseAfter(attempt, retryAfterMs, random, PAUSES)).toBe(pauseMs);
  },
);

test.each([
  ["2", 2_000],
  ["Fri, 20 Nov 2026 09:41:10 GMT", 3_000],
  ["Fri, 20 Nov 2026 09:41:00 GMT", 0],
  ["soon", undefined],
  [" ", undefined],
  [null, undefined],
])("retryAfter converts the header %j to %s ms", (header, expected) => {
  expect(retryAfter(header, NOW_MS)).toBe(expected);
});
