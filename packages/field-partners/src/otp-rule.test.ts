import { describe, expect, test } from "vitest";
import { judgeOtp, type OtpState, otpWaitMs } from "./otp-rule.ts";

const NOW = new Date("2026-11-21T09:00:00Z");
const KEY = "0192f0a1-7c3e-7d42-9c55-0b2f6a1d8e01";
const OTHER = "0192f0a1-7c3e-7d42-9c55-0b2f6a1d8e02";

function minutesAgo(minutes: number): Date {
  return new Date(NOW.getTime() - minutes * 60_000);
}

const fresh: OtpState = { expiresAt: minutesAgo(-1), wrongTries: 0, verifiedAt: null, verifiedKey: null };
const used: OtpState = { ...fresh, expiresAt: minutesAgo(2), verifiedAt: minutesAgo(14), verifiedKey: KEY };

describe("judgeOtp:", () => {
  test.each([
    ["a code is accepted before it expires", fresh, true, "right"],
    ["a code is rejected if it is wrong", fresh, false, "wrong"],
    ["a code is accepted at the fifth try", { ...fresh, wrongTries: 4 }, true, "right"],
    ["a code is expired after five wrong tries, even if it is right", { ...fresh, wrongTries: 5 }, true, "expired"],
    ["a code is expired at its expiry time", { ...fresh, expiresAt: NOW }, true, "expired"],
    ["a code is expired at its expiry time, even if it is wrong", { ...fresh, expiresAt: NOW }, false, "expired"],
    [
      "a code that was already used to sign in is accepted in a repeat of the same request, even after its expiry time",
      used,
      true,
      "repeat",
    ],
    [
      "a code that is wrong is a conflict if a request with the same idempotency key has already signed in",
      used,
      false,
      "conflict",
    ],
    [
      "a code is not accepted in a repeat of the same request 15 minutes after the sign-in",
      { ...used, verifiedAt: minutesAgo(15) },
      true,
      "expired",
    ],
    [
      "a code that was already used to sign in is expired for a request with another idempotency key",
      { ...used, verifiedKey: OTHER },
      true,
      "expired",
    ],
    [
      "a code is not accepted in a repeat of the same request after five wrong tries",
      { ...used, wrongTries: 5 },
      true,
      "expired",
    ],
  ] as const)("%s", (_, otp, isRight, verdict) => {
    expect(judgeOtp(otp, { isRight, idempotencyKey: KEY }, NOW)).toBe(verdict);
  });
});

describe("the wait for the next code", () => {
  test.each([
    [[], 0],
    [[1, 2], 0],
    [[1, 2, 3], 12],
    [[3, 1, 2], 12],
    [[0, 0, 0], 15],
    [[1, 2, 15], 0],
    [[1, 2, 14.5, 16], 0.5],
    [[1, 2, 3, 4], 12],
  ])("after codes that were requested %j minutes ago is %d minutes", (ago, minutes) => {
    const recent = ago.map((minute) => ({ requestedAt: minutesAgo(minute), wrongTries: 0 }));
    expect(otpWaitMs(recent, NOW)).toBe(minutes * 60_000);
  });

  const HOUR = 60;
  test.each([
    ["nine codes in a day", Array.from({ length: 9 }, (_, hour) => [(hour + 1) * HOUR, 0]), 0],
    ["ten codes in a day", Array.from({ length: 10 }, (_, hour) => [(hour + 1) * HOUR, 0]), 14 * HOUR],
    [
      "fourteen wrong tries in a day",
      [
        [2 * HOUR, 5],
        [3 * HOUR, 4],
        [4 * HOUR, 5],
      ],
      0,
    ],
    [
      "fifteen wrong tries in a day",
      [
        [2 * HOUR, 5],
        [3 * HOUR, 5],
        [4 * HOUR, 5],
      ],
      20 * HOUR,
    ],
    [
      "sixteen wrong tries in a day, where the three newest codes reach the limit",
      [
        [2 * HOUR, 5],
        [3 * HOUR, 5],
        [4 * HOUR, 5],
        [5 * HOUR, 1],
      ],
      20 * HOUR,
    ],
    [
      "fifteen wrong tries on the day before",
      [
        [24 * HOUR, 5],
        [25 * HOUR, 5],
        [26 * HOUR, 5],
      ],
      0,
    ],
  ] as [string, [number, number][], number][])(
    "after %s lasts until the limit allows another code",
    (_, codes, minutes) => {
      const recent = codes.map(([minute, wrongTries]) => ({ requestedAt: minutesAgo(minute), wrongTries }));
      expect(otpWaitMs(recent, NOW)).toBe(minutes * 60_000);
    },
  );
});
