import { createHash, createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import type { DigestAlgorithm } from "./digest-algorithm.ts";
import type { RunningHmac } from "./running-hmac.ts";
import type { SigningKey } from "./signing-key.ts";

/** Prepares the HMAC key of a secret. One KeyObject for many signatures is several times cheaper than one for each. */
export function prepareKey(secret: Uint8Array): SigningKey {
  return createSecretKey(secret) as unknown as SigningKey;
}

/** Computes the HMAC-SHA256 (32 bytes) of the parts in their order, without joining them. Strings are encoded as UTF-8. */
export function hmacSha256(key: SigningKey, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const hmac = beginHmacSha256(key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Begins an HMAC-SHA256 of a message that arrives in parts. It cannot be used after `digest`. */
export function beginHmacSha256(key: SigningKey): RunningHmac {
  return createHmac("sha256", key as unknown as KeyObject);
}

/** Computes the SHA-256 (32 bytes) of the parts in their order, without joining them. Strings are encoded as UTF-8. */
export function sha256(parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  return digestOf("sha256", parts);
}

/** Computes the digest of the parts in their order, without joining them. Strings are encoded as UTF-8. */
export function digestOf(algorithm: DigestAlgorithm, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const hash = createHash(algorithm);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Whether two digests of the same length are equal. Compares in constant time. */
export function equalDigests(one: Uint8Array, other: Uint8Array): boolean {
  return timingSafeEqual(one, other);
}
