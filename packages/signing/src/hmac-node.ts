import { createHash, createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import type { DigestAlgorithm } from "./digest-algorithm.ts";
import type { RunningHmac } from "./running-hmac.ts";
import type { SigningKey } from "./signing-key.ts";

/** Prepares an HMAC key, used as it is. One KeyObject for many signatures is several times cheaper than a new one each. */
export function prepareKey(secret: Uint8Array): SigningKey {
  return createSecretKey(secret) as unknown as SigningKey;
}

/** HMAC-SHA256 over the parts one after the other, without joining them: 32 bytes. Strings count as UTF-8. */
export function hmacSha256(key: SigningKey, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const hmac = beginHmacSha256(key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** An HMAC-SHA256 whose message arrives in parts. Strings count as UTF-8; after `digest` it is used up. */
export function beginHmacSha256(key: SigningKey): RunningHmac {
  return createHmac("sha256", key as unknown as KeyObject);
}

/** SHA-256 over the parts one after the other, without joining them: 32 bytes. Strings count as UTF-8. */
export function sha256(parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  return digestOf("sha256", parts);
}

/** The digest of the parts one after the other, without joining them. Strings count as UTF-8. */
export function digestOf(algorithm: DigestAlgorithm, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const hash = createHash(algorithm);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Whether two digests of one length are equal, in a time that does not depend on where they differ. */
export function equalDigests(one: Uint8Array, other: Uint8Array): boolean {
  return timingSafeEqual(one, other);
}
