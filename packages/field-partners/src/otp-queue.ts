import { queue } from "@collections/database";

/** A one-time password to send, if anybody may have it. The job says no more than its row's id. */
export interface OtpJob {
  readonly otpId: string;
}

/** Attempts after the first one, about 1, 2, 4 and 8 seconds apart: a code is good for minutes. */
export const OTP_SEND_RETRIES = 4;

export const otpQueue = queue<OtpJob>("send-otp", {
  retryLimit: OTP_SEND_RETRIES,
  retryDelay: 1,
  retryDelayMax: 10,
  expireInSeconds: 90,
  deleteAfterSeconds: 3_600,
});
