import { type Database, type Job, transaction } from "@collections/database";
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

/** A way to bring a code to a phone; throws WhatsAppNotSentError or SmsNotSentError. */
export interface OtpChannel {
  readonly name: "whatsapp" | "sms";
  send(otp: { phone: string; code: string; otpId: string }): Promise<void>;
}

/**
 * What the job of one-time passwords works with.
 *
 * @example
 * const send: OtpChannel["send"] = ({ phone, code, otpId }) =>
 *   sms.send({ to: phone, text: `${code} is your sign-in code.`, key: otpId });
 * const otps: OtpDeps = { database, keys, channels: [{ name: "sms", send }], showsCodes: false, log: console };
 */
export interface OtpDeps {
  readonly database: Database;
  readonly keys: SignInKeys;
  /** Tried in this order. */
  readonly channels: readonly OtpChannel[];
  /** A sandbox shows codes in its log, and needs no channel. */
  readonly showsCodes: boolean;
  readonly log: { info(facts: object, message: string): void; warn(facts: object, message: string): void };
}

/**
 * No channel took the code now: thrown so that the job is tried again.
 *
 * @example
 * await database.jobs.work(otpQueue, { concurrency: 32 }, (job) =>
 *   sendOtp(otps, job).catch((error: unknown) => {
 *     if (error instanceof OtpNotAcceptedError) console.warn(`Tried again after ${error.code}`);
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
 * Works a job of `otpQueue`: looks whether anybody has the phone and brings the code over the first channel that takes
 * it. Repeated after a crash it is the same code. Throws OtpNotAcceptedError for a fault that may pass.
 *
 * @example
 * await database.jobs.work(otpQueue, { concurrency: 32 }, (job) => sendOtp(otps, job));
 */
export async function sendOtp(deps: OtpDeps, { data, attempt }: Job<OtpJob>): Promise<void> {
  const { database, log } = deps;
  const { otpId } = data;

  // Make it out to whoever has the phone.
  const otp = await otpToSend(database.em(), deps.keys, otpId, new Date());
  if (!otp) {
    log.info({ otpId }, "sign-in code not sent: no active field partner has the phone, or it is too late");
    return;
  }
  const { fieldPartnerId } = otp;
  const facts = { otpId, fieldPartnerId, attempt };
  if (deps.showsCodes) log.info(facts, `sign-in code ${otp.code}`);

  // Send it, outside any transaction.
  const { channel, faults } = await sendOver(deps, otpId, otp);
  for (const [name, { code, detail }] of faults) {
    log.warn({ ...facts, channel: name, code, detail }, "sign-in code not taken by a channel");
  }
  const passing = faults.map(([, fault]) => fault).find(mayPass);
  if (channel === null && passing && attempt <= OTP_SEND_RETRIES) throw new OtpNotAcceptedError(passing);

  // Record what came of it.
  const sending = { otpId, fieldPartnerId, channel, failureCode: faults.at(-1)?.[1].code };
  await untilAvailable(RECORD_FOR_MS, () =>
    transaction(database.em(), (tx) => recordOtpSending(tx, sending, new Date())),
  );
}

type ChannelFault = WhatsAppNotSentError | SmsNotSentError;

/**
 * Over the first channel that takes it, beginning with one that has brought this person nothing a moment ago: who asks
 * again may have no WhatsApp, and nobody tells us. In a sandbox without any, the log has brought it.
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

/** A message that may have gone out is worth another try here: it has the same code. */
function mayPass({ retryable, code }: ChannelFault): boolean {
  return retryable || code === "OUTCOME_UNKNOWN";
}
