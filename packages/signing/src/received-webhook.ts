import { equalDigests, hmacSha256, prepareKey } from "#hmac";
import { decodeBase64 } from "./base64.ts";
import { HEADERS } from "./headers.ts";
import { readRequestTarget } from "./request-target.ts";
import { type Secret, signingKey, verify } from "./signature.ts";
import { TIMESTAMP_TOLERANCE_MS } from "./timestamp.ts";

/** A request that a receiver of webhooks got. */
export interface ReceivedWebhook {
  /** The headers as Node has them (`request.headers`), or a `Headers` of the Fetch API. Their names may be in any case. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The path that the sender called, with its percent-encoding: `request.url` of Node, or the whole URL. */
  readonly path: string;
  /** The bytes of the body as they arrived, before they are parsed. */
  readonly body: Uint8Array | string;
}

/** The secrets of a receiver, and the names of the sender's headers. */
export interface WebhookVerification {
  /** The secret that the sender has issued. During a rotation, both secrets: each may verify the request. */
  readonly secret: Secret | readonly Secret[];
  /** The prefix of the sender's own headers. Default: `X-Service-`. */
  readonly headerPrefix?: string | undefined;
  /** The largest difference between the time of the request and `nowMs`, in milliseconds. Default: five minutes. */
  readonly toleranceMs?: number | undefined;
  /** The receiver's clock, in milliseconds since 1970. Default: the current time. */
  readonly nowMs?: number | undefined;
}

/** A request whose signature and time are valid. */
export interface VerifiedWebhook {
  /**
   * The id of the event, to deduplicate by: the header `webhook-id` or `X-Service-Delivery`. Undefined if the request has neither.
   */
  readonly eventId: string | undefined;
  /**
   * Whether the signature covers `eventId`. It does with the headers of Standard Webhooks. Otherwise, deduplicate by an id in the
   * body.
   */
  readonly isIdSigned: boolean;
  /** When the request was signed. Each attempt has its own time and signature. */
  readonly signedAt: Date;
}

/** Why a request is not verified. */
export type WebhookFault = "HEADERS_MISSING" | "TIMESTAMP_INVALID" | "TIMESTAMP_OUT_OF_RANGE" | "SIGNATURE_WRONG";

/**
 * The request was not signed by the sender, or not within the tolerated time. Answer 401, and do not read the body.
 *
 * @example
 * try {
 *   verifyWebhook({ headers, path: "/hooks", body }, { secret });
 * } catch (error) {
 *   if (error instanceof WebhookNotVerifiedError) console.error(error.code, error.message);
 * }
 */
export class WebhookNotVerifiedError extends Error {
  override readonly name = "WebhookNotVerifiedError";
  readonly code: WebhookFault;

  constructor(code: WebhookFault, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Verifies a webhook that a receiver got, by the sender's own headers or by those of Standard Webhooks. Each signature of the
 * request is compared with each secret, in constant time. So a receiver may have the old or the new secret, or both, while the
 * sender rotates them. A request that arrives twice verifies twice: deduplicate by the event's id.
 * @throws WebhookNotVerifiedError, and EmptySecretError
 *
 * @example
 * const { eventId, isIdSigned } = verifyWebhook({ headers, path: "/hooks", body }, { secret });
 * const { kind } = JSON.parse(new TextDecoder().decode(body)) as { kind: string };
 */
export function verifyWebhook(request: ReceivedWebhook, options: WebhookVerification): VerifiedWebhook {
  const { toleranceMs = TIMESTAMP_TOLERANCE_MS, nowMs = Date.now() } = options;
  const secrets = isList(options.secret) ? options.secret : [options.secret];
  if (secrets.length === 0) throw new TypeError("secret is an empty list; expected the secrets of the sender.");
  const signed = [standardSignatures(request), ownSignatures(request, options)].filter((one) => one !== undefined);
  if (signed.length === 0) {
    const { timestamp, signature } = namesOf(options);
    throw new WebhookNotVerifiedError(
      "HEADERS_MISSING",
      `The request is not signed; expected the headers ${timestamp} and ${signature}, or webhook-id, webhook-timestamp and webhook-signature.`,
    );
  }
  // If the request has both kinds of headers, one of them has to be valid. The error is that of the last kind.
  let failed: WebhookNotVerifiedError | undefined;
  for (const { timestamp, msPerUnit, isSignedBy, ...rest } of signed) {
    const signedAtMs = /^[0-9]{1,15}$/.test(timestamp) ? Number(timestamp) * msPerUnit : undefined;
    failed = faultOfTime(timestamp, signedAtMs, { toleranceMs, nowMs });
    if (failed === undefined && secrets.some(isSignedBy)) return { ...rest, signedAt: new Date(signedAtMs!) };
    failed ??= new WebhookNotVerifiedError(
      "SIGNATURE_WRONG",
      "No signature of the request is by one of the secrets; check the secret, the path, and that the body is the bytes as they arrived.",
    );
  }
  throw failed!;
}

function isList(secret: Secret | readonly Secret[]): secret is readonly Secret[] {
  return Array.isArray(secret);
}

/** The headers of one kind: what they sign, and the signatures. */
interface Signatures {
  readonly eventId: string | undefined;
  readonly isIdSigned: boolean;
  readonly timestamp: string;
  readonly msPerUnit: 1 | 1_000;
  readonly isSignedBy: (secret: Secret) => boolean;
}

function ownSignatures(request: ReceivedWebhook, options: WebhookVerification): Signatures | undefined {
  const names = namesOf(options);
  const timestamp = headerOf(request, names.timestamp);
  const signatures = [names.signature, names.retiringSignature].flatMap((name) => headerOf(request, name) ?? []);
  if (timestamp === undefined || signatures.length === 0) return undefined;
  const { path } = readRequestTarget(request.path);
  return {
    eventId: headerOf(request, names.delivery),
    isIdSigned: false,
    timestamp,
    msPerUnit: 1,
    isSignedBy: (secret) =>
      signatures.some((signature) =>
        verify({ method: "POST", path, timestamp, body: request.body, secret, signature }),
      ),
  };
}

const STANDARD_SIGNATURE = /^v1,([A-Za-z0-9+/]{43}=)$/;
const STANDARD_SECRET_PREFIX = "whsec_";

function standardSignatures(request: ReceivedWebhook): Signatures | undefined {
  const [id, timestamp, list] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    headerOf(request, name),
  );
  if (id === undefined || timestamp === undefined || list === undefined) return undefined;
  const signatures = list.split(" ").flatMap((signature) => STANDARD_SIGNATURE.exec(signature)?.[1] ?? []);
  return {
    eventId: id,
    isIdSigned: true,
    timestamp,
    msPerUnit: 1_000,
    isSignedBy(secret) {
      const expected = hmacSha256(standardKey(secret), [`${id}.${timestamp}.`, request.body]);
      return signatures.some((signature) => equalDigests(expected, decodeBase64(signature)));
    },
  };
}

/** The bytes of the key: what follows `whsec_`, decoded from base64; otherwise the UTF-8 of the secret. */
function standardKey(secret: Secret) {
  if (typeof secret !== "string") return secret;
  if (!secret.startsWith(STANDARD_SECRET_PREFIX)) return signingKey(secret);
  const bytes = decodeBase64(secret.slice(STANDARD_SECRET_PREFIX.length));
  return bytes.length === 0 ? signingKey("") : prepareKey(bytes);
}

function faultOfTime(
  timestamp: string,
  signedAtMs: number | undefined,
  { toleranceMs, nowMs }: { readonly toleranceMs: number; readonly nowMs: number },
): WebhookNotVerifiedError | undefined {
  if (signedAtMs === undefined) {
    return new WebhookNotVerifiedError("TIMESTAMP_INVALID", "The timestamp is not a number of decimal digits.");
  }
  if (Math.abs(nowMs - signedAtMs) <= toleranceMs) return undefined;
  return new WebhookNotVerifiedError(
    "TIMESTAMP_OUT_OF_RANGE",
    `The timestamp ${timestamp} is more than ${toleranceMs} ms from the receiver's clock; compare the clocks of both sides.`,
  );
}

function namesOf({ headerPrefix }: WebhookVerification) {
  const prefixed = (name: string) => (headerPrefix ?? OWN_PREFIX) + name.slice(OWN_PREFIX.length);
  return {
    timestamp: prefixed(HEADERS.timestamp),
    signature: prefixed(HEADERS.signature),
    retiringSignature: prefixed(`${OWN_PREFIX}Retiring-Signature`),
    delivery: prefixed(HEADERS.delivery),
  };
}

const OWN_PREFIX = "X-Service-";

/** Returns the value of a header. A header that came several times counts as missing, because only one value is signed. */
function headerOf({ headers }: ReceivedWebhook, name: string): string | undefined {
  if (typeof headers.get === "function") return (headers as Headers).get(name) ?? undefined;
  const wanted = name.toLowerCase();
  const found = Object.entries(headers as Record<string, unknown>).filter(([key]) => key.toLowerCase() === wanted);
  const values = found
    .flatMap(([, value]) => value as string | string[] | undefined)
    .filter((value) => value !== undefined);
  return values.length === 1 && typeof values[0] === "string" && values[0] !== "" ? values[0] : undefined;
}
