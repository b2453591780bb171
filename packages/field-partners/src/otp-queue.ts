import { queue } from "@collections/database";

/**
 * A job that sends a one-time password, if an active field partner has the phone. It contains only the password's id.
 */
export interface OtpJob {
  readonly otpId: string;
}

/**
 * The number of retries of a job, after about 1, 2, 4 and 8 seconds. The pauses are short because a code is valid for
 * only 5 minutes.
 *
 * @example
 * const isLastAttempt = (attempt: number) => attempt > OTP_SEND_RETRIES;
 */
export const OTP_SEND_RETRIES = 4;

/**
 * The queue of codes to send. `requestOtp` adds a job, and a worker of the host application sends the code to the phone.
 *
 * @example
 * await database.jobs.work(otpQueue, { concurrency: 4 }, async ({ data: { otpId } }) => {
 *   const otp = await otpToSend(database.em(), keys, otpId, new Date());
 *   if (otp === undefined) return; // no active field partner has the phone, or the code has expired or was sent
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
