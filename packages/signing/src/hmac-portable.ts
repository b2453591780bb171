import { hmac } from "@noble/hashes/hmac.js";
import { sha1 } from "@noble/hashes/legacy.js";
import { sha256 as sha2Of256, sha512 } from "@noble/hashes/sha2.js";
import type { DigestAlgorithm } from "./digest-algorithm.ts";
import type { RunningHmac } from "./running-hmac.ts";
import type { SigningKey } from "./signing-key.ts";

const HASHES = { sha1, sha256: sha2Of256, sha512 };

/** Prepares the HMAC key of a secret. Both padded keys are hashed only once, here. */
export function prepareKey(secret: Uint8Array): SigningKey {
  return new PortableKey(secret) as unknown as SigningKey;
}

/** Computes the HMAC-SHA256 (32 bytes) of the parts in their order, without joining them. Strings are encoded as UTF-8. */
export function hmacSha256(key: SigningKey, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const running = beginHmacSha256(key);
  for (const part of parts) running.update(part);
  return running.digest();
}

/** Begins an HMAC-SHA256 of a message that arrives in parts. It cannot be used after `digest`. */
export function beginHmacSha256(key: SigningKey): RunningHmac {
  return (key as unknown as PortableKey).begin();
}

/** Computes the SHA-256 (32 bytes) of the parts in their order, without joining them. Strings are encoded as UTF-8. */
export function sha256(parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  return digestOf("sha256", parts);
}

/** Computes the digest of the parts in their order, without joining them. Strings are encoded as UTF-8. */
export function digestOf(algorithm: DigestAlgorithm, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const hash = HASHES[algorithm].create();
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Whether two digests of the same length are equal. Compares in constant time. */
export function equalDigests(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length)
    throw new RangeError(`Cannot compare a digest of ${one.length} bytes with one of ${other.length} bytes.`);
  let difference = 0;
  for (const [index, byte] of one.entries()) difference |= byte ^ (other[index] as number);
  return difference === 0;
}

/**
 * A prepared HMAC key: the state of an HMAC after its key was hashed. The state is a private field, so that printing
 * the prepared key does not show it.
 */
class PortableKey {
  readonly #keyed: ReturnType<typeof hmac.create>;

  constructor(secret: Uint8Array) {
    this.#keyed = hmac.create(sha2Of256, secret);
  }

  begin(): RunningHmac {
    return this.#keyed.clone();
  }
}
