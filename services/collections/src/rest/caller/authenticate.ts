import type { Credential, Credentials, KeyUses } from "@collections/lenders";
import { beginVerification, checkTimestamp, signingKey } from "@collections/signing";
import type { Request } from "express";
import { BadSignature } from "./bad-signature.ts";
import { Problem } from "../../http/problem.ts";
import { addressOf } from "../../http/address-of.ts";
import type { NamedCaller, SignedCaller } from "./signed-request.ts";

export interface AuthenticationRules {
  credentials: Credentials;
  keyUses: KeyUses;
  /** The part of the path that a proxy in front has removed. It is put back before the signature is verified. */
  publicBasePath: string;
  /** A sandbox answers a wrong signature with the text that had to be signed, and with the mistake. */
  sandbox: boolean;
}

/** Used to verify requests with an unknown key, so that the time of the answer does not reveal which key ids exist. */
const DUMMY_KEY = signingKey("the key of nobody");

/** The authentication headers of a request, complete and with a timestamp within the tolerance. */
export interface PresentedHeaders {
  readonly keyId: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly skewMs: number;
  readonly at: Date;
}

/**
 * Checks that all headers are present, and then that the timestamp is valid and within the tolerance. Throws the
 * Problem of the first check that fails.
 */
export function presentedHeaders(request: Request, nowMs: number): PresentedHeaders {
  const keyId = bearer(request);
  const timestamp = header(request, "x-service-timestamp");
  const signature = header(request, "x-service-signature");
  const { skewMs } = checkedTimestamp(timestamp, signature, nowMs);
  return { keyId, timestamp, signature, skewMs, at: new Date(nowMs) };
}

/** Called with each part of a body as it arrives. */
export type OnPart = (part: Buffer) => void;

/** The body of a request that has not been read yet. */
export interface ArrivingBody {
  /** Reads the body to its end and returns it. */
  read(onPart: OnPart): Promise<Buffer>;
  /** Reads the body to its end without keeping it. */
  drain(onPart: OnPart): Promise<void>;
}

/**
 * Verifies a request's signature over the exact bytes, before anything is parsed (contract: Authentication). Checks the
 * key first, then the signature. Accepts suspended lenders, because each endpoint decides whether to refuse them.
 *
 * The key is looked up before the body is read. If the key is unknown or revoked, the body is hashed as it arrives and
 * not kept.
 * @throws Problem UNKNOWN_KEY, KEY_REVOKED, BAD_SIGNATURE
 */
export async function authenticate(
  request: Request,
  { keyId, timestamp, signature, skewMs, at }: PresentedHeaders,
  arriving: ArrivingBody,
  rules: AuthenticationRules,
): Promise<SignedCaller & { body: Buffer }> {
  const key = await rules.credentials.byKeyId(keyId);
  const signed = { method: request.method, path: rules.publicBasePath + request.originalUrl, timestamp, signature };
  const verification = beginVerification({ ...signed, secret: key?.signingKey ?? DUMMY_KEY });
  if (!isUsable(key)) {
    await arriving.drain(verification.update);
    verification.holds();
    throw unusable(key);
  }
  const body = await arriving.read(verification.update);
  if (!verification.holds()) throw badSignature(request, { ...signed, body }, keyId, rules);
  // Look up the API key again: a body may take two minutes to arrive, and a key that is revoked during this time must
  // not pass.
  const known = usable(await rules.credentials.byKeyId(keyId));
  rules.keyUses.note({ lenderId: known.lender.id, keyId, at });
  return { ...callerOf(known), skewMs, acceptedAt: at, body };
}

/**
 * Finds the caller by the key id, without a signature. A key id proves nothing, so the answer must be harmless
 * (contract: Signature debugger).
 * @throws Problem MISSING_AUTHORIZATION, UNKNOWN_KEY, KEY_REVOKED
 */
export async function identify(request: Request, { credentials }: AuthenticationRules): Promise<NamedCaller> {
  const caller = callerOf(usable(await credentials.byKeyId(bearer(request))));
  return { ...caller, unprovenFrom: addressOf(request) };
}

function isUsable(key: Credential | undefined): boolean {
  return key !== undefined && key.keyState !== "revoked";
}

/**
 * Returns the API key if it may be used.
 * @throws Problem UNKNOWN_KEY, KEY_REVOKED
 */
function usable(key: Credential | undefined): Credential {
  if (!key || !isUsable(key)) throw unusable(key);
  return key;
}

function unusable(key: Credential | undefined): Problem {
  return key
    ? new Problem("KEY_REVOKED", "Sign with an active key of this lender.")
    : new Problem("UNKNOWN_KEY", "The key id of the Authorization header is not known here.");
}

function callerOf({ keyId, lender, debugUntil }: Credential): NamedCaller {
  return { keyId, lender, debugUntil };
}

/** Returns the key id that a request names, which may be unknown; undefined if it names none. */
export function namedKey({ headers }: Request): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization?.trim() ?? "")?.[1];
}

function bearer(request: Request): string {
  const keyId = namedKey(request);
  if (keyId === undefined) throw new Problem("MISSING_AUTHORIZATION", "Send Authorization: Bearer <apiKeyId>.");
  return keyId;
}

function header(request: Request, name: string): string {
  return request.get(name)?.trim() ?? "";
}

function checkedTimestamp(timestamp: string, signature: string, nowMs: number): { skewMs: number } {
  const verdict = checkTimestamp(timestamp === "" ? undefined : timestamp, nowMs);
  if (!verdict.ok && verdict.code === "MISSING_TIMESTAMP") {
    throw new Problem("MISSING_TIMESTAMP", "Send X-Service-Timestamp: Unix time in milliseconds.");
  }
  if (signature === "") {
    throw new Problem("MISSING_SIGNATURE", "Send X-Service-Signature: the hex HMAC-SHA256 of the request.");
  }
  if (verdict.ok) return verdict;
  if (verdict.code === "MALFORMED_TIMESTAMP") {
    throw new Problem("MALFORMED_TIMESTAMP", "X-Service-Timestamp takes decimal digits: Unix time in milliseconds.");
  }
  const hint = verdict.hint === undefined ? "" : ` The value ${verdict.hint}.`;
  throw new Problem("TIMESTAMP_OUT_OF_RANGE", `Sign with a clock within 5 minutes of server time.${hint}`, {
    serverTime: new Date(nowMs).toISOString(),
    // The exact difference from a huge timestamp cannot be computed. Answer the smallest safe integer in this case: it
    // says that the timestamp is ahead of server time by about this much or more.
    skewMs: verdict.skewMs ?? Number.MIN_SAFE_INTEGER,
  });
}

function badSignature(
  request: Request,
  signed: ConstructorParameters<typeof BadSignature>[0],
  keyId: string,
  { credentials, sandbox }: AuthenticationRules,
): BadSignature {
  const host = request.headers.host;
  const secrets = sandbox ? () => credentials.secretsFor(keyId) : undefined;
  return new BadSignature({ ...signed, ...(host !== undefined && { host }) }, secrets);
}
