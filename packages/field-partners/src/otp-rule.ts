import { REPEAT_GRACE_MS } from "./token-pair.ts";

/** Wrong codes after which no code is right any more. */
export const OTP_TRIES = 5;
/** Codes for one phone in any stretch of `OTP_SEND_WINDOW_MS`. */
export const OTP_SENDS = 3;
export const OTP_SEND_WINDOW_MS = 15 * 60 * 1000;
/** How long a code counts, from when it was asked for. */
export const OTP_TTL_MS = 5 * 60 * 1000;

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
    const isLate = now.getTime() - otp.verifiedAt.getTime() >= REPEAT_GRACE_MS;
    if (isLate || otp.verifiedKey !== given.idempotencyKey) return "expired";
    return given.isRight ? "repeat" : "conflict";
  }
  if (now >= otp.expiresAt) return "expired";
  return given.isRight ? "right" : "wrong";
}

/** How long to wait for the next code; 0 when it may be asked for now. `requestedAt`: the last ones, in any order. */
export function otpWaitMs(requestedAt: readonly Date[], now: Date): number {
  const counting = requestedAt
    .map((at) => at.getTime() + OTP_SEND_WINDOW_MS - now.getTime())
    .filter((leftMs) => leftMs > 0);
  // The next one is free once fewer than the limit count.
  return counting.sort((a, b) => b - a)[OTP_SENDS - 1] ?? 0;
}
