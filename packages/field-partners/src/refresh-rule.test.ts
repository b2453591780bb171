import { expect, test } from "vitest";
import { judgeRefresh, type RefreshState } from "./refresh-rule.ts";

const NOW = new Date("2026-11-21T09:00:00Z");
const KEY = "0192f0a1-7c3e-7d42-9c55-0b2f6a1d8e01";
const OTHER = "0192f0a1-7c3e-7d42-9c55-0b2f6a1d8e02";

function minutesAgo(minutes: number): Date {
  return new Date(NOW.getTime() - minutes * 60_000);
}

const fresh: RefreshState = {
  refreshExpiresAt: minutesAgo(-1),
  usedAt: null,
  usedKey: null,
  isOver: false,
  isKeyTaken: false,
};
const used: RefreshState = { ...fresh, usedAt: minutesAgo(24 * 60 - 1), usedKey: KEY, isKeyTaken: true };

test.each([
  ["a refresh token that is unused is exchanged for new tokens", fresh, "rotate"],
  ["a refresh token of an ended session is rejected", { ...fresh, isOver: true }, "over"],
  ["a refresh token is rejected at its expiry time", { ...fresh, refreshExpiresAt: NOW }, "over"],
  [
    "a refresh token is a conflict if its idempotency key was used with another token",
    { ...fresh, isKeyTaken: true },
    "conflict",
  ],
  ["a refresh token that was used before with the same idempotency key is a repeat", used, "repeat"],
  [
    "a refresh token that was used before with another idempotency key is a reuse",
    { ...used, usedKey: OTHER },
    "reused",
  ],
  [
    "a refresh token that was used a day ago is a reuse, even with the same key",
    { ...used, usedAt: minutesAgo(24 * 60) },
    "reused",
  ],
  [
    "a refresh token that was used before is rejected, and is not a reuse, if its session has ended",
    { ...used, usedKey: OTHER, isOver: true },
    "over",
  ],
  [
    "a refresh token that was used before is rejected, and is not a reuse, if it has expired",
    { ...used, usedKey: OTHER, refreshExpiresAt: NOW },
    "over",
  ],
] as const)("%s", (_, state, verdict) => {
  expect(judgeRefresh(state, KEY, NOW)).toBe(verdict);
});
