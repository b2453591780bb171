import { type Job, transaction } from "@collections/database";
import type { Database } from "@collections/entities";
import {
  OTP_SEND_RETRIES,
  type OtpJob,
  otpToSend,
  type OtpToSend,
  recordOtpSending,
  type SignInKeys,
} from "@collections/field-partners";
import { SmsNotSentError, WhatsAppNotSentError } from "@collections/messaging";
import { RECORD_FOR_MS } from "../link/link-jobs.ts";
import { untilAvailable } from "../link/until-available.ts";

/** A channel that sends a code to a phone. `send` throws WhatsAppNotSentError or SmsNotSentError. */
export interface OtpChannel {
  readonly name: "whatsapp" | "sms";
  send(otp: { phone: string; code: string; otpId: string }): Promise<void>;
}

/**
 * The dependencies of the job that sends one-time passwords.
 *
 * @example
 * const send: OtpChannel["send"] = ({ phone, code, otpId }) =>
 *   sms.send({ to: phone, text: `${code} is your sign-in code.`, key: otpId });
 * const otps: OtpDeps = { database, keys, channels: [{ name: "sms", send }], showsCodes: false, log: console };
 */
export interface OtpDeps {
  readonly database: Database;
  readonly keys: SignInKeys;
  /** The channels in the order in which they are tried. */
  readonly channels: readonly OtpChannel[];
  /** Whether codes are written to the log. A sandbox does this, and then needs no channel. */
  readonly showsCodes: boolean;
  readonly log: { info(facts: object, message: string): void; warn(facts: object, message: string): void };
}

/**
 * No channel accepted the code, for a temporary reason. This error is thrown so that the job is retried.
 *
 * @example
 * await database.jobs.work(otpQueue, { concurrency: 32 }, (job) =>
 *   sendOtp(otps, job).catch((error: unknown) => {
 *     if (error instanceof OtpNotAcceptedError) console.warn(`Will retry after ${error.code}`);
 *     throw error;
 *   }),
 * );
 */
export class OtpNotAcceptedError extends Error {
  override readonly name = "OtpNotAcceptedError";
  readonly code: string;

  constructor({ code, detail }: WhatsAppNotSentError | SmsNotSentError) {
    super(detail);
    this.code = code;
  }
}

/**
 * Runs a job of `otpQueue`: finds the field partner with this phone and sends the code over the first channel that
 * accepts it. A job that is repeated after a crash sends the same code. Throws OtpNotAcceptedError for a temporary
 * failure.
 *
 * @example
 * await database.jobs.work(otpQueue, { concurrency: 32 }, (job) => sendOtp(otps, job));
 */
export async function sendOtp(deps: OtpDeps, { data, attempt }: Job<OtpJob>): Promise<void> {
  const { database, log } = deps;
  const { otpId } = data;

  // Find the field partner with this phone, and derive the code.
  const otp = await otpToSend(database.em(), deps.keys, otpId, new Date());
  if (!otp) {
    log.info(
      { otpId },
      "sign-in code not sent: no active field partner has this phone number, or the code has expired",
    );
    return;
  }
  const { fieldPartnerId } = otp;
  const facts = { otpId, fieldPartnerId, attempt };
  if (deps.showsCodes) log.info(facts, `sign-in code ${otp.code}`);

  // Send the code, outside any transaction.
  const { channel, faults } = await sendOver(deps, otpId, otp);
  for (const [name, { code, detail }] of faults) {
    log.warn({ ...facts, channel: name, code, detail }, "sign-in code not accepted by a channel");
  }
  const temporary = faults.map(([, fault]) => fault).find(isTemporary);
  if (channel === null && temporary && attempt <= OTP_SEND_RETRIES) throw new OtpNotAcceptedError(temporary);

  // Record the result.
  const sending = { otpId, fieldPartnerId, channel, failureCode: faults.at(-1)?.[1].code };
  await untilAvailable(RECORD_FOR_MS, () =>
    transaction(database.em(), (tx) => recordOtpSending(tx, sending, new Date())),
  );
}

type ChannelFault = WhatsAppNotSentError | SmsNotSentError;

/**
 * Sends the code over the first channel that accepts it. Channels that recently sent a code to this person are tried
 * last: a person who requests another code may not have received the first one, for example because the person has no
 * WhatsApp. The service cannot find that out. In a sandbox without channels, the log counts as the channel.
 */
async function sendOver(
  { channels, showsCodes }: OtpDeps,
  otpId: string,
  { phone, code, usedChannels }: OtpToSend,
): Promise<{ channel: string | null; faults: [string, ChannelFault][] }> {
  const faults: [string, ChannelFault][] = [];
  const isUsed = ({ name }: OtpChannel) => usedChannels.includes(name);
  for (const { name, send } of [...channels.filter((channel) => !isUsed(channel)), ...channels.filter(isUsed)]) {
    try {
      await send({ phone, code, otpId });
      return { channel: name, faults };
    } catch (error) {
      if (!(error instanceof WhatsAppNotSentError || error instanceof SmsNotSentError)) throw error;
      faults.push([name, error]);
    }
  }
  return { channel: channels.length === 0 && showsCodes ? "log" : null, faults };
}

/**
 * Tells whether to retry the job after this fault. A message that may have been sent is retried too, because the second
 * message has the same code.
 */
function isTemporary({ retryable, code }: ChannelFault): boolean {
  return retryable || code === "OUTCOME_UNKNOWN";
}
