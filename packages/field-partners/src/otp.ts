import { createHash, timingSafeEqual } from "node:crypto";
import { enqueue, newId, query, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { LockMode } from "@mikro-orm/core";
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
  type OtpState,
  otpWaitMs,
} from "./otp-rule.ts";
import { OtpEntity } from "./schema.ts";
import { startSession } from "./session.ts";
import { otpCode, type SignInKeys } from "./sign-in-keys.ts";
import { findUnusedTokens, looksLikeToken, tokenHash, type Tokens } from "./token-pair.ts";

/** The outcome of a request for a code. */
export type OtpRequestOutcome =
  | { readonly kind: "requested"; readonly otpId: string; readonly expiresAt: Date }
  /** A limit is reached. The next code can be requested after `waitMs`. */
  | { readonly kind: "too_many"; readonly waitMs: number }
  | { readonly kind: "invalid_phone" }
  /** The idempotency key was already used for another phone, or for a code that has expired. */
  | { readonly kind: "conflict" };

/** The outcome of the verification of a code. */
export type OtpVerification =
  | { readonly kind: "signed_in"; readonly sessionId: string; readonly tokens: Tokens }
  | { readonly kind: "wrong"; readonly triesLeft: number }
  /** The code is unknown, expired or used, has too many wrong tries, or its field partner is suspended. */
  | { readonly kind: "expired" }
  /** An earlier request with this idempotency key signed in with another code. */
  | { readonly kind: "conflict" };

/** A code to send, and its recipient. */
export interface OtpToSend {
  readonly fieldPartnerId: string;
  /** The phone number in E.164. It is personal data: do not log it. */
  readonly phone: string;
  /** The code is secret: do not log it. */
  readonly code: string;
  /**
   * The channels that sent codes to this phone in the last 15 minutes. Prefer another channel: the field partner may
   * request a new code because the earlier ones did not arrive.
   */
  readonly usedChannels: readonly string[];
}

/** The result of sending a code. */
export interface OtpSending {
  readonly otpId: string;
  readonly fieldPartnerId: string;
  /** The channel that sent the code, or null if all channels failed. */
  readonly channel: string | null;
  readonly failureCode?: string | undefined;
}

const lockPhone = statement(
  "field-partners.lock-otp-phone",
  `select pg_advisory_xact_lock(hashtextextended('field-partners.otp ' || $1::text, 0))`,
);

const knownDevice = statement(
  "field-partners.known-device",
  `select s.id from field_partners.token_pair t
   join field_partners.session s on s.id = t.session_id
   join field_partners.field_partner f on f.id = s.field_partner_id
   where t.refresh_token_hash = $1 and f.phone = $2`,
);

const table = tableOf(OtpEntity);
const INSERTED = ["id", "phone", "idempotencyKey", "requestedAt", "expiresAt", "fromKnownDevice"] as const;

const insert = statement(
  "field-partners.insert-otp",
  `insert into ${table.name} (${table.columnList(INSERTED)})
   values (${table.parameterList(INSERTED)})
   on conflict (idempotency_key) do nothing returning id`,
);

const assignOtp = statement(
  "field-partners.make-out-otp",
  `update field_partners.otp o set field_partner_id = f.id from field_partners.field_partner f
   where o.id = $1 and o.expires_at > $2 and o.sent_at is null and o.verified_at is null
     and f.phone = o.phone and f.state = 'active'
   returning f.id as "fieldPartnerId", f.phone, array(
     select distinct e.channel from field_partners.otp e
     where e.phone = o.phone and e.requested_at > $3 and e.channel is not null
   ) as "usedChannels"`,
);

/** A request for a code. A request with the same idempotency key and phone is a repeat. */
export interface OtpRequest {
  /** The phone number in E.164, such as `+919800000001`. */
  readonly phone: string;
  readonly idempotencyKey: string;
  /** A refresh token from an earlier session of the same device and phone number. It may be expired or used. */
  readonly previousRefreshToken?: string | undefined;
}

/**
 * Requests a code for a phone. A phone gets at most 3 codes in 15 minutes and 10 in a day, and none for a day after 15
 * wrong tries. A device that was signed in before has limits of its own, which strangers cannot use up. A repeat with
 * the same idempotency key and phone gets the same code, which is sent once.
 *
 * Only the job checks whether a field partner has the phone. So the answer and its timing are the same for every phone.
 *
 * @example
 * const request = { phone: "+919800000001", idempotencyKey };
 * const outcome = await transaction(em, (tx) => requestOtp(tx, request, now));
 * if (outcome.kind === "too_many") throw new Error(`Try again in ${Math.ceil(outcome.waitMs / 1000)} s.`);
 */
export async function requestOtp(tx: Tx, request: OtpRequest, now: Date): Promise<OtpRequestOutcome> {
  const { phone, idempotencyKey } = request;
  if (!isPhone(phone)) return { kind: "invalid_phone" };
  // Requests for one phone run one after the other. Otherwise concurrent requests could exceed the limit.
  await query(tx, lockPhone, [phone]);
  const known = await tx.findOne(OtpEntity, { idempotencyKey });
  // A repeat after the code has expired is a conflict: the app needs a new code, with a new idempotency key.
  const isRepeat = known?.phone === phone && now < known.expiresAt;
  if (known) {
    return isRepeat ? { kind: "requested", otpId: known.id, expiresAt: known.expiresAt } : { kind: "conflict" };
  }

  const isKnownDevice = (await knownDeviceOf(tx, request)) !== undefined;
  const dayStart = new Date(now.getTime() - OTP_DAY_MS);
  const recent = { phone, fromKnownDevice: isKnownDevice, requestedAt: { $gt: dayStart }, forgivenAt: null };
  const waitMs = otpWaitMs(await tx.find(OtpEntity, recent), now);
  if (waitMs > 0) return { kind: "too_many", waitMs };

  const expiresAt = new Date(now.getTime() + OTP_TTL_MS);
  const otpId = newId();
  const otp = { id: otpId, phone, idempotencyKey, requestedAt: now, expiresAt, fromKnownDevice: isKnownDevice };
  const [inserted] = await query(tx, insert, table.values(otp, INSERTED));
  // A concurrent request has used the idempotency key for another phone.
  if (!inserted) return { kind: "conflict" };
  await enqueue(tx, otpQueue, { otpId });
  return { kind: "requested", otpId, expiresAt };
}

/**
 * Returns the id of the session in which the device was signed in with this phone number, even if the session has
 * ended. Returns undefined if `previousRefreshToken` was never a refresh token of this phone number. A refresh token
 * cannot be guessed, so it proves that the device was signed in.
 *
 * @example
 * const sessionId = await knownDeviceOf(em, { phone: "+919800000001", previousRefreshToken: refreshToken });
 */
export async function knownDeviceOf(
  em: EntityManager,
  { phone, previousRefreshToken }: Pick<OtpRequest, "phone" | "previousRefreshToken">,
): Promise<string | undefined> {
  if (previousRefreshToken === undefined || !looksLikeToken("fpr", previousRefreshToken)) return undefined;
  const [session] = await query<{ id: string }>(em, knownDevice, [tokenHash(previousRefreshToken), phone]);
  return session?.id;
}

/**
 * Returns whether a known device requested this code. Only that device knows the id of the code.
 *
 * @example
 * const isKnown = await isOtpOfKnownDevice(em, otpId);
 */
export async function isOtpOfKnownDevice(em: EntityManager, otpId: string): Promise<boolean> {
  return (await em.count(OtpEntity, { id: otpId, fromKnownDevice: true })) > 0;
}

/**
 * Returns the code to send. Finds the active field partner who has the phone, and records that the code belongs to this
 * field partner. Returns undefined if there is no such field partner, or if the code has expired, was used or is
 * already recorded as sent. Until it is recorded as sent, each call returns the same code, so a retry may send it twice
 * without harm.
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
  const recentFrom = new Date(now.getTime() - OTP_SEND_WINDOW_MS);
  const [recipient] = await query<Omit<OtpToSend, "code">>(em, assignOtp, [otpId, now, recentFrom]);
  return recipient && { ...recipient, code: otpCode(keys.otp[0]!, otpId) };
}

/**
 * Records the result of sending a code. If the same code was already sent, records nothing.
 *
 * @example
 * await transaction(em, (tx) => recordOtpSending(tx, { otpId, fieldPartnerId, channel: "sms" }, now));
 */
export async function recordOtpSending(tx: Tx, sending: OtpSending, now: Date): Promise<void> {
  const { otpId, fieldPartnerId, channel, failureCode } = sending;
  if (channel !== null) {
    const marked = await tx.nativeUpdate(OtpEntity, { id: otpId, sentAt: null }, { sentAt: now, channel });
    if (marked === 0) return;
  }
  const act = channel === null ? "otp.not_sent" : "otp.sent";
  const data = { otpId, ...(channel !== null && { channel }), ...(failureCode !== undefined && { failureCode }) };
  recordFieldPartnerAct(tx, { fieldPartnerId, act, data }, now);
}

/**
 * Signs in with a code. After 5 wrong tries, counted over all processes, the code is expired. The caller must commit
 * the transaction, whatever the outcome, because wrong tries are counted in it. A repeat of the same request within 15
 * minutes gets the same tokens. A repeat with a wrong code gets the same answer and does not count as another try.
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
  const lock = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } as const;
  const otp = await tx.findOne(OtpEntity, { id: otpId }, lock);
  if (!otp) return { kind: "expired" };
  const request = createHash("sha256")
    .update(JSON.stringify([idempotencyKey, given.code]))
    .digest();
  if (otp.lastWrong && request.equals(otp.lastWrong)) return wrongCodeOutcome(otp);
  const isRight = isCodeOf(keys, otpId, given.code) && otp.fieldPartnerId !== null;
  const verdict = judgeOtp(otp, { isRight, idempotencyKey }, now);
  const seed = ["otp", otpId, idempotencyKey];
  switch (verdict) {
    case "expired":
      return { kind: "expired" };
    case "wrong":
    case "conflict": {
      otp.wrongTries += 1;
      otp.lastWrong = request;
      if (otp.wrongTries === OTP_TRIES && otp.fieldPartnerId !== null) {
        const act = { act: "otp.tries_used_up", data: { otpId } } as const;
        recordFieldPartnerAct(tx, { fieldPartnerId: otp.fieldPartnerId, ...act }, now);
      }
      return wrongCodeOutcome(otp);
    }
    case "repeat": {
      const unused = await findUnusedTokens(tx, keys, { seed, withinMs: OTP_REPEAT_MS }, now);
      return unused ? { kind: "signed_in", ...unused } : { kind: "expired" };
    }
    case "right": {
      const started = await startSession(tx, keys, { fieldPartnerId: otp.fieldPartnerId!, deviceName, seed }, now);
      if (!started) return { kind: "expired" };
      otp.verifiedAt = now;
      otp.verifiedKey = idempotencyKey;
      return { kind: "signed_in", ...started };
    }
  }
}

/**
 * Returns the outcome for a wrong code: a conflict if an earlier request with this idempotency key signed in with the
 * right code, otherwise the number of tries that are left.
 */
function wrongCodeOutcome({ verifiedAt, wrongTries }: OtpState): OtpVerification {
  return verifiedAt ? { kind: "conflict" } : { kind: "wrong", triesLeft: OTP_TRIES - wrongTries };
}

/**
 * Returns whether the code is right under any of the sign-in keys. Always compares with all of them, so that the
 * duration reveals nothing.
 */
function isCodeOf(keys: SignInKeys, otpId: string, given: string): boolean {
  const typed = Buffer.from(given);
  const matches = keys.otp.map((key) => {
    const code = Buffer.from(otpCode(key, otpId));
    return typed.length === code.length && timingSafeEqual(typed, code);
  });
  return matches.includes(true);
}
