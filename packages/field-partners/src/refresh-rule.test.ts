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
  ["gives new tokens", fresh, "rotate"],
  ["gives none when the session has ended", { ...fresh, isOver: true }, "over"],
  ["gives none at its end", { ...fresh, refreshExpiresAt: NOW }, "over"],
  ["gives none under a key that was for another token", { ...fresh, isKeyTaken: true }, "conflict"],
  ["that was used answers the same request again", used, "repeat"],
  ["that was used is a copy when the request is another", { ...used, usedKey: OTHER }, "reused"],
  ["that was used a day ago is a copy, also in the same request", { ...used, usedAt: minutesAgo(24 * 60) }, "reused"],
  ["of an ended session ends nothing more", { ...used, usedKey: OTHER, isOver: true }, "over"],
  ["that was used and is at its end ends nothing", { ...used, usedKey: OTHER, refreshExpiresAt: NOW }, "over"],
] as const)("a refresh token %s", (_, state, verdict) => {
  expect(judgeRefresh(state, KEY, NOW)).toBe(verdict);
});
