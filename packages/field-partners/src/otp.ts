import { createHash, timingSafeEqual } from "node:crypto";
import { enqueue, type EntityManager, newId, query, statement, type Tx } from "@collections/database";
import { recordFieldPartnerAct } from "./audit.ts";
import { isPhone } from "./field-partner.ts";
import { otpQueue } from "./otp-queue.ts";
import {
  judgeOtp,
  OTP_DAY_MS,
  OTP_REPEAT_MS,
  OTP_SEND_WINDOW_MS,
  OTP_TRIES,
  OTP_TTL_MS,
  type OtpAsked,
  type OtpState,
  otpWaitMs,
} from "./otp-rule.ts";
import { startSession } from "./session.ts";
import { otpCode, type SignInKeys } from "./sign-in-keys.ts";
import { looksLikeToken, tokenHash, type Tokens, tokensAgain } from "./token-pair.ts";

/**
 * What came of the wish for a code. `waitMs` is until the next one may be asked for; `conflict`: the key was used for
 * another phone, or for a code that counts no more.
 */
export type OtpRequestOutcome =
  | { readonly kind: "requested"; readonly otpId: string; readonly expiresAt: Date }
  | { readonly kind: "too_many"; readonly waitMs: number }
  | { readonly kind: "invalid_phone" }
  | { readonly kind: "conflict" };

/**
 * What came of a code. `expired` also for one that nobody has asked for; `conflict`: the request signed somebody in
 * with another code.
 */
export type OtpVerification =
  | { readonly kind: "signed_in"; readonly sessionId: string; readonly tokens: Tokens }
  | { readonly kind: "wrong"; readonly triesLeft: number }
  | { readonly kind: "expired" }
  | { readonly kind: "conflict" };

/** A code to send, and to whom. */
export interface OtpToSend {
  readonly fieldPartnerId: string;
  /** E.164. Personal, as the code is secret: neither goes into a log. */
  readonly phone: string;
  readonly code: string;
  /** What has brought codes to this phone a moment ago: whoever asks again may not have got them. */
  readonly usedChannels: readonly string[];
}

/** What became of a code: `channel` brought it, or none did. */
export interface OtpSending {
  readonly otpId: string;
  readonly fieldPartnerId: string;
  readonly channel: string | null;
  readonly failureCode?: string | undefined;
}

const lockPhone = statement(
  "field-partners.lock-otp-phone",
  `select pg_advisory_xact_lock(hashtextextended('field-partners.otp ' || $1::text, 0))`,
);

const byKey = statement(
  "field-partners.otp-by-key",
  `select id, phone, expires_at as "expiresAt" from field_partners.otp where idempotency_key = $1`,
);

const recent = statement(
  "field-partners.recent-otps",
  `select requested_at as "requestedAt", wrong_tries as "wrongTries" from field_partners.otp
   where phone = $1 and from_known_device = $2 and requested_at > $3 and forgiven_at is null`,
);

const knownDevice = statement(
  "field-partners.known-device",
  `select s.id from field_partners.token_pair t
   join field_partners.session s on s.id = t.session_id
   join field_partners.field_partner f on f.id = s.field_partner_id
   where t.refresh_token_hash = $1 and f.phone = $2`,
);

const fromKnownDevice = statement(
  "field-partners.otp-from-known-device",
  `select id from field_partners.otp where id = $1 and from_known_device`,
);

const insert = statement(
  "field-partners.insert-otp",
  `insert into field_partners.otp (id, phone, idempotency_key, requested_at, expires_at, from_known_device)
   values ($1, $2, $3, $4, $5, $6)
   on conflict (idempotency_key) do nothing returning id`,
);

const makeOut = statement(
  "field-partners.make-out-otp",
  `update field_partners.otp o set field_partner_id = f.id from field_partners.field_partner f
   where o.id = $1 and o.expires_at > $2 and o.sent_at is null and o.verified_at is null
     and f.phone = o.phone and f.state = 'active'
   returning f.id as "fieldPartnerId", f.phone, array(
     select distinct e.channel from field_partners.otp e
     where e.phone = o.phone and e.requested_at > $3 and e.channel is not null
   ) as "usedChannels"`,
);

const markSent = statement(
  "field-partners.mark-otp-sent",
  `update field_partners.otp set sent_at = $2, channel = $3 where id = $1 and sent_at is null returning id`,
);

const lockOtp = statement(
  "field-partners.lock-otp",
  `select expires_at as "expiresAt", wrong_tries as "wrongTries", verified_at as "verifiedAt",
     verified_key as "verifiedKey", field_partner_id as "fieldPartnerId", last_wrong as "lastWrong"
   from field_partners.otp where id = $1 for update`,
);

const countWrong = statement(
  "field-partners.count-wrong-otp",
  `update field_partners.otp set wrong_tries = wrong_tries + 1, last_wrong = $2 where id = $1
   returning wrong_tries as "wrongTries"`,
);

const markVerified = statement(
  "field-partners.mark-otp-verified",
  `update field_partners.otp set verified_at = $2, verified_key = $3 where id = $1 returning id`,
);

/** A wish for a code: the same key and phone again is the same wish. */
export interface OtpWish {
  /** E.164, such as `+919800000001`. */
  readonly phone: string;
  readonly idempotencyKey: string;
  /** A refresh token that the device has had for this phone, whether it counts or not. */
  readonly knownBy?: string | undefined;
}

/**
 * Has a code sent to a phone, at most 3 in 15 minutes and 10 a day, and none after 15 wrong tries in a day. Nobody looks
 * here whether anybody has that phone: the job does, so the work and the answer are the same. A device that was signed in
 * has limits of its own, so that no stranger uses them up. The same key and phone again is the same code, sent once.
 *
 * @example
 * const wish = { phone: "+919800000001", idempotencyKey };
 * const outcome = await transaction(em, (tx) => requestOtp(tx, wish, now));
 * if (outcome.kind === "too_many") throw new Error(`Ask again in ${Math.ceil(outcome.waitMs / 1000)} s.`);
 */
export async function requestOtp(tx: Tx, wish: OtpWish, now: Date): Promise<OtpRequestOutcome> {
  const { phone, idempotencyKey } = wish;
  if (!isPhone(phone)) return { kind: "invalid_phone" };
  // One after the other for each phone: else two that count at once would both find room for the third.
  await query(tx, lockPhone, [phone]);
  const [known] = await query<{ id: string; phone: string; expiresAt: Date }>(tx, byKey, [idempotencyKey]);
  // A code that counts no more helps nobody: who waited so long needs a new one, under a new key.
  const isGood = known?.phone === phone && now < known.expiresAt;
  if (known) return isGood ? { kind: "requested", otpId: known.id, expiresAt: known.expiresAt } : { kind: "conflict" };

  const isKnownDevice = (await knownDeviceOf(tx, wish)) !== undefined;
  const dayStart = new Date(now.getTime() - OTP_DAY_MS);
  const waitMs = otpWaitMs(await query<OtpAsked>(tx, recent, [phone, isKnownDevice, dayStart]), now);
  if (waitMs > 0) return { kind: "too_many", waitMs };

  const expiresAt = new Date(now.getTime() + OTP_TTL_MS);
  const otpId = newId();
  const [inserted] = await query(tx, insert, [otpId, phone, idempotencyKey, now, expiresAt, isKnownDevice]);
  // Somebody used the key for another phone in this very moment.
  if (!inserted) return { kind: "conflict" };
  await enqueue(tx, otpQueue, { otpId });
  return { kind: "requested", otpId, expiresAt };
}

/**
 * Returns the id of the session that the device had with this phone, also after the session has ended; undefined when
 * `knownBy` was never a refresh token of this phone. Nobody can guess a refresh token, so a stranger has no session here.
 *
 * @example
 * const sessionId = await knownDeviceOf(em, { phone: "+919800000001", knownBy: refreshToken });
 */
export async function knownDeviceOf(
  em: EntityManager,
  { phone, knownBy }: Pick<OtpWish, "phone" | "knownBy">,
): Promise<string | undefined> {
  if (knownBy === undefined || !looksLikeToken("fpr", knownBy)) return undefined;
  const [session] = await query<{ id: string }>(em, knownDevice, [tokenHash(knownBy), phone]);
  return session?.id;
}

/**
 * Whether a known device asked for this code. Only that device was told the id of the code.
 *
 * @example
 * const isKnown = await isOtpOfKnownDevice(em, otpId);
 */
export async function isOtpOfKnownDevice(em: EntityManager, otpId: string): Promise<boolean> {
  return (await query(em, fromKnownDevice, [otpId])).length > 0;
}

/**
 * The code to send, made out to the active field partner who has the phone; undefined when there is none, when it is too
 * late, or when it was sent. Asked again it is the same code, so that sending it twice confuses nobody.
 *
 * @example
 * const otp = await otpToSend(em, keys, otpId, now);
 * if (otp === undefined) return;
 * const text = `${otp.code} is your code for Partner Collections.`;
 */
export async function otpToSend(
  em: EntityManager,
  keys: SignInKeys,
  otpId: string,
  now: Date,
): Promise<OtpToSend | undefined> {
  const momentAgo = new Date(now.getTime() - OTP_SEND_WINDOW_MS);
  const [madeOut] = await query<Omit<OtpToSend, "code">>(em, makeOut, [otpId, now, momentAgo]);
  return madeOut && { ...madeOut, code: otpCode(keys.otp[0]!, otpId) };
}

/**
 * Keeps what became of a code.
 *
 * @example
 * await transaction(em, (tx) => recordOtpSending(tx, { otpId, fieldPartnerId, channel: "sms" }, now));
 */
export async function recordOtpSending(tx: Tx, sending: OtpSending, now: Date): Promise<void> {
  const { otpId, fieldPartnerId, channel, failureCode } = sending;
  if (channel !== null && (await query(tx, markSent, [otpId, now, channel])).length === 0) return;
  const act = channel === null ? "otp.not_sent" : "otp.sent";
  const data = { otpId, ...(channel !== null && { channel }), ...(failureCode !== undefined && { failureCode }) };
  recordFieldPartnerAct(tx, { fieldPartnerId, act, data }, now);
}

/**
 * Signs in whoever has the code: at most 5 wrong ones, over all processes. Wrong tries count although nobody signs in, so
 * the caller commits whatever this returns. The same request again, a moment later, gets the same tokens, or the same
 * refusal without a further try.
 *
 * @example
 * const given = { otpId, code, idempotencyKey, deviceName: "Redmi 12" };
 * const verified = await transaction(em, (tx) => verifyOtp(tx, keys, given, now));
 * if (verified.kind === "wrong") throw new Error(`The code is wrong; ${verified.triesLeft} tries are left.`);
 */
export async function verifyOtp(
  tx: Tx,
  keys: SignInKeys,
  given: { otpId: string; code: string; idempotencyKey: string; deviceName: string | null },
  now: Date,
): Promise<OtpVerification> {
  const { otpId, idempotencyKey, deviceName } = given;
  const [otp] = await query<KnownOtp>(tx, lockOtp, [otpId]);
  if (!otp) return { kind: "expired" };
  const request = createHash("sha256")
    .update(JSON.stringify([idempotencyKey, given.code]))
    .digest();
  if (otp.lastWrong?.equals(request)) return refusalOf(otp, otp.wrongTries);
  const isRight = isCodeOf(keys, otpId, given.code) && otp.fieldPartnerId !== null;
  const verdict = judgeOtp(otp, { isRight, idempotencyKey }, now);
  const seed = ["otp", otpId, idempotencyKey];
  switch (verdict) {
    case "expired":
      return { kind: "expired" };
    case "wrong":
    case "conflict": {
      const [counted] = await query<{ wrongTries: number }>(tx, countWrong, [otpId, request]);
      if (counted!.wrongTries === OTP_TRIES && otp.fieldPartnerId !== null) {
        const used = { act: "otp.tries_used_up", data: { otpId } } as const;
        recordFieldPartnerAct(tx, { fieldPartnerId: otp.fieldPartnerId, ...used }, now);
      }
      return refusalOf(otp, counted!.wrongTries);
    }
    case "repeat": {
      const again = await tokensAgain(tx, keys, { seed, within: OTP_REPEAT_MS }, now);
      return again ? { kind: "signed_in", ...again } : { kind: "expired" };
    }
    case "right": {
      const started = await startSession(tx, keys, { fieldPartnerId: otp.fieldPartnerId!, deviceName, seed }, now);
      if (!started) return { kind: "expired" };
      await query(tx, markVerified, [otpId, now, idempotencyKey]);
      return { kind: "signed_in", ...started };
    }
  }
}

interface KnownOtp extends OtpState {
  readonly fieldPartnerId: string | null;
  readonly lastWrong: Buffer | null;
}

/** Of a code that somebody has signed in with, another one in the same request is a conflict. */
function refusalOf({ verifiedAt }: KnownOtp, wrongTries: number): OtpVerification {
  return verifiedAt ? { kind: "conflict" } : { kind: "wrong", triesLeft: OTP_TRIES - wrongTries };
}

/** Compares with every key's code, whatever the first comparison says. */
function isCodeOf(keys: SignInKeys, otpId: string, given: string): boolean {
  const typed = Buffer.from(given);
  const matches = keys.otp.map((key) => {
    const code = Buffer.from(otpCode(key, otpId));
    return typed.length === code.length && timingSafeEqual(typed, code);
  });
  return matches.includes(true);
}
