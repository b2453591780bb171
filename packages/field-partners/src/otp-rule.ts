/** The number of wrong tries after which a code is expired. */
export const OTP_TRIES = 5;
/** The maximum number of codes for one phone within `OTP_SEND_WINDOW_MS`. */
export const OTP_SENDS = 3;
export const OTP_SEND_WINDOW_MS = 15 * 60 * 1000;
/**
 * Limits for one phone within `OTP_DAY_MS`: the number of codes, and the number of wrong tries for all codes together.
 */
export const OTP_SENDS_PER_DAY = 10;
export const OTP_WRONG_TRIES_PER_DAY = 15;
export const OTP_DAY_MS = 24 * 60 * 60 * 1000;
/** How long a code is valid after it was requested. */
export const OTP_TTL_MS = 5 * 60 * 1000;
/** How long after a sign-in a repeat of the same request gets the same tokens again. */
export const OTP_REPEAT_MS = 15 * 60 * 1000;

/** The facts about a code that decide the answer. */
export interface OtpState {
  readonly expiresAt: Date;
  readonly wrongTries: number;
  readonly verifiedAt: Date | null;
  readonly verifiedKey: string | null;
}

export type OtpVerdict = "right" | "wrong" | "expired" | "repeat" | "conflict";

/**
 * Decides the answer to a code. A code for a phone without a field partner gets the same answer as any wrong code, so
 * that the answer does not show whether the phone is registered. `repeat` means that the same request signed in before.
 * `conflict` means that a request with the same idempotency key signed in before with another code; it counts as a
 * wrong try.
 */
export function judgeOtp(otp: OtpState, given: { isRight: boolean; idempotencyKey: string }, now: Date): OtpVerdict {
  if (otp.wrongTries >= OTP_TRIES) return "expired";
  if (otp.verifiedAt) {
    const isLate = now.getTime() - otp.verifiedAt.getTime() >= OTP_REPEAT_MS;
    if (isLate || otp.verifiedKey !== given.idempotencyKey) return "expired";
    return given.isRight ? "repeat" : "conflict";
  }
  if (now >= otp.expiresAt) return "expired";
  return given.isRight ? "right" : "wrong";
}

/** A requested code and its number of wrong tries. */
export interface RecentOtp {
  readonly requestedAt: Date;
  readonly wrongTries: number;
}

/**
 * Returns how long to wait until the next code can be requested, or 0 if it can be requested now. `recent` contains the
 * codes that were requested in the last day, in any order.
 */
export function otpWaitMs(recent: readonly RecentOtp[], now: Date): number {
  const newestFirst = recent.toSorted((a, b) => b.requestedAt.getTime() - a.requestedAt.getTime());
  const waitForLimit = (limit: number, periodMs: number, countOf: (otp: RecentOtp) => number): number => {
    let count = 0;
    // Counting back from the newest code, `last` is the code that reaches the limit. The wait ends when `last` is older
    // than the period.
    const last = newestFirst.find((otp) => (count += countOf(otp)) >= limit);
    return last ? last.requestedAt.getTime() + periodMs - now.getTime() : 0;
  };
  return Math.max(
    0,
    waitForLimit(OTP_SENDS, OTP_SEND_WINDOW_MS, () => 1),
    waitForLimit(OTP_SENDS_PER_DAY, OTP_DAY_MS, () => 1),
    waitForLimit(OTP_WRONG_TRIES_PER_DAY, OTP_DAY_MS, ({ wrongTries }) => wrongTries),
  );
}
