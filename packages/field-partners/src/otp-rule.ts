/** Wrong codes after which no code is right any more. */
export const OTP_TRIES = 5;
/** Codes for one phone in any stretch of `OTP_SEND_WINDOW_MS`. */
export const OTP_SENDS = 3;
export const OTP_SEND_WINDOW_MS = 15 * 60 * 1000;
/** Codes, and wrong tries of all of them, for one phone in any stretch of a day: nobody guesses on from day to day. */
export const OTP_SENDS_PER_DAY = 10;
export const OTP_WRONG_TRIES_PER_DAY = 15;
export const OTP_DAY_MS = 24 * 60 * 60 * 1000;
/** How long a code counts, from when it was asked for. */
export const OTP_TTL_MS = 5 * 60 * 1000;
/** How long the request that signed somebody in gets the same tokens again. */
export const OTP_REPEAT_MS = 15 * 60 * 1000;

/** What the answer to a code depends on. */
export interface OtpState {
  readonly expiresAt: Date;
  readonly wrongTries: number;
  readonly verifiedAt: Date | null;
  readonly verifiedKey: string | null;
}

export type OtpVerdict = "right" | "wrong" | "expired" | "repeat" | "conflict";

/**
 * What a code is worth. A code that nobody has is wrong like any other, so that the verdict tells nothing about the phone.
 * `repeat`: the same request signed somebody in a moment ago; a wrong code in it counts as a try.
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

/** A code that was asked for, and what became of it. */
export interface OtpAsked {
  readonly requestedAt: Date;
  readonly wrongTries: number;
}

/** How long to wait for the next code; 0 when it may be asked for now. `asked`: those of the last day, in any order. */
export function otpWaitMs(asked: readonly OtpAsked[], now: Date): number {
  const newestFirst = asked.toSorted((a, b) => b.requestedAt.getTime() - a.requestedAt.getTime());
  const untilFewer = (limit: number, windowMs: number, weightOf: (asked: OtpAsked) => number): number => {
    let weight = 0;
    // Whoever makes the limit full has to leave the window.
    const last = newestFirst.find((one) => (weight += weightOf(one)) >= limit);
    return last ? last.requestedAt.getTime() + windowMs - now.getTime() : 0;
  };
  return Math.max(
    0,
    untilFewer(OTP_SENDS, OTP_SEND_WINDOW_MS, () => 1),
    untilFewer(OTP_SENDS_PER_DAY, OTP_DAY_MS, () => 1),
    untilFewer(OTP_WRONG_TRIES_PER_DAY, OTP_DAY_MS, ({ wrongTries }) => wrongTries),
  );
}
