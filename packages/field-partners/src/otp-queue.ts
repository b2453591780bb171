import { queue } from "@collections/database";

/** A one-time password to send, if anybody may have it. The job says no more than its row's id. */
export interface OtpJob {
  readonly otpId: string;
}

/**
 * Attempts after the first one, about 1, 2, 4 and 8 seconds apart: a code is good for minutes.
 *
 * @example
 * const isLastAttempt = (attempt: number) => attempt > OTP_SEND_RETRIES;
 */
export const OTP_SEND_RETRIES = 4;

/**
 * The queue of codes to send: `requestOtp` puts a job in, a worker of the host brings the code to the phone.
 *
 * @example
 * await database.jobs.work(otpQueue, { concurrency: 4 }, async ({ data: { otpId } }) => {
 *   const otp = await otpToSend(database.em(), keys, otpId, new Date());
 *   if (otp === undefined) return; // nobody active has the phone, or it is too late
 *   // send otp.code to otp.phone, then recordOtpSending
 * });
 */
export const otpQueue = queue<OtpJob>("send-otp", {
  retryLimit: OTP_SEND_RETRIES,
  retryDelay: 1,
  retryDelayMax: 10,
  expireInSeconds: 90,
  deleteAfterSeconds: 3_600,
});
