import { beginHmacSha256, equalDigests, hmacSha256, prepareKey, sha256 } from "#hmac";
import { signatureBytes, toHex } from "./hex.ts";
import { EmptySecretError, type SigningKey } from "./signing-key.ts";

const encoder = new TextEncoder();

/** The four parts of a request that are signed. contract: Signature */
export interface SignedRequest {
  /** The HTTP method in any case. It is signed in upper case. */
  readonly method: string;
  /** The path as on the request line, with its percent-encoding. The query string, from `?` on, is not signed. */
  readonly path: string;
  /** The exact value of the X-Service-Timestamp header: Unix milliseconds in decimal. */
  readonly timestamp: string;
  /** The exact bytes that are sent, or text that is sent as UTF-8. Empty for a request without a body. */
  readonly body: Uint8Array | string;
}

/** A secret as it was issued, including its prefix, or a key prepared by `signingKey`. */
export type Secret = string | SigningKey;

/**
 * Prepares a secret once for many calls of `sign` and `verify`. Throws EmptySecretError.
 *
 * @example
 * const key = signingKey(secret);
 * const request = { method: "GET", path: "/api/v1/partner/health", timestamp: String(Date.now()), body: "" };
 * const signature = sign({ ...request, secret: key });
 */
export function signingKey(secret: string): SigningKey {
  if (secret === "") throw new EmptySecretError();
  return prepareKey(encoder.encode(secret));
}

/** A request and the secret that signs it. */
export interface RequestToSign extends SignedRequest {
  readonly secret: Secret;
}

/** A received request, its signature, and the secret of the expected sender. */
export interface RequestToVerify extends RequestToSign {
  readonly signature: string;
}

/**
 * Signs a request: HMAC-SHA256 of its canonical string, in lower-case hex. Throws EmptySecretError. contract: Signature
 *
 * @example
 * const timestamp = String(Date.now());
 * const signature = sign({ secret, method: "POST", path: "/hooks/collections", timestamp, body });
 * const signed = { [HEADERS.timestamp]: timestamp, [HEADERS.signature]: signature };
 */
export function sign(request: RequestToSign): string {
  return toHex(hmacOf(request));
}

/**
 * Returns whether `signature` is the signature of this request, in hex of either case. Returns false for text other
 * than 64 hex digits. Compares the 32 bytes in constant time. Does not check the age of the timestamp: use
 * `checkTimestamp`.
 *
 * @example
 * const timestamp = headers.get(HEADERS.timestamp) ?? "";
 * const signature = headers.get(HEADERS.signature) ?? "";
 * const isGenuine = verify({ secret, method: "POST", path: "/hooks/collections", timestamp, body, signature });
 * const isAccepted = isGenuine && checkTimestamp(timestamp, Date.now()).ok;
 */
export function verify(request: RequestToVerify): boolean {
  return isSignature(request.signature, hmacOf(request));
}

/** A verification that `beginVerification` has begun. It takes the body part by part. */
export interface Verification {
  /** Adds the next bytes of the body, which are not stored. */
  update(part: Uint8Array): void;
  /** Returns whether the signature matches the whole body. Call it once, after the last part. */
  holds(): boolean;
}

/**
 * Begins to verify the signature of a body that arrives in parts, so that the body need not be in memory.
 * Throws EmptySecretError.
 *
 * @example
 * const parts = [new TextEncoder().encode('{"eventId":'), new TextEncoder().encode('"evt_1"}')];
 * const signature = headers.get(HEADERS.signature) ?? "";
 * const verification = beginVerification({ secret, method: "POST", path: "/hooks", timestamp: "1795167667000", signature });
 * for (const part of parts) verification.update(part);
 * const isGenuine = verification.holds();
 */
export function beginVerification(request: Omit<RequestToVerify, "body">): Verification {
  const hmac = beginHmacSha256(keyOf(request.secret));
  hmac.update(prefixOf(request));
  return {
    update: (part) => void hmac.update(part),
    holds: () => isSignature(request.signature, hmac.digest()),
  };
}

/**
 * Returns the bytes that are signed: METHOD, PATH, TIMESTAMP and RAW_BODY, separated by newlines. contract: Signature
 *
 * @example
 * const bytes = canonicalString({ method: "get", path: "/health?full=1", timestamp: "1795167667000", body: "" });
 * const text = new TextDecoder().decode(bytes); // "GET\n/health\n1795167667000\n"
 */
export function canonicalString(request: SignedRequest): Uint8Array {
  const prefix = encoder.encode(prefixOf(request));
  const body = typeof request.body === "string" ? encoder.encode(request.body) : request.body;
  const canonical = new Uint8Array(prefix.length + body.length);
  canonical.set(prefix);
  canonical.set(body, prefix.length);
  return canonical;
}

/**
 * Returns the SHA-256 of the canonical string, in lower-case hex. A sender and a receiver can compare their hashes
 * without revealing a body or a secret.
 *
 * @example
 * const request = { method: "POST", path: "/hooks/collections", timestamp, body };
 * console.log(`SHA-256 of what is signed: ${canonicalSha256(request)}`);
 */
export function canonicalSha256(request: SignedRequest): string {
  return toHex(sha256([prefixOf(request), request.body]));
}

/**
 * Computes the SHA-256 of bytes, or of text as UTF-8, in lower-case hex.
 *
 * @example
 * sha256Hex("abc").slice(0, 16); // "ba7816bf8f01cfea"
 */
export function sha256Hex(bytes: Uint8Array | string): string {
  return toHex(sha256([bytes]));
}

function hmacOf(request: RequestToSign): Uint8Array {
  return hmacSha256(keyOf(request.secret), [prefixOf(request), request.body]);
}

function keyOf(secret: Secret): SigningKey {
  return typeof secret === "string" ? signingKey(secret) : secret;
}

/** Compares in constant time. Text that is not 64 hex digits is not a signature. */
function isSignature(text: string, expected: Uint8Array): boolean {
  const received = signatureBytes(text);
  return received !== undefined && equalDigests(expected, received);
}

function prefixOf({ method, path, timestamp }: Omit<SignedRequest, "body">): string {
  const query = path.indexOf("?");
  return `${method.toUpperCase()}\n${query === -1 ? path : path.slice(0, query)}\n${timestamp}\n`;
}
