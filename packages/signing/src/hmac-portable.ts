import { hmac } from "@noble/hashes/hmac.js";
import { sha1 } from "@noble/hashes/legacy.js";
import { sha256 as sha2Of256, sha512 } from "@noble/hashes/sha2.js";
import type { DigestAlgorithm } from "./digest-algorithm.ts";
import type { RunningHmac } from "./running-hmac.ts";
import type { SigningKey } from "./signing-key.ts";

const HASHES = { sha1, sha256: sha2Of256, sha512 };

/** Prepares an HMAC key, used as it is. Both padded keys are hashed once, here. */
export function prepareKey(secret: Uint8Array): SigningKey {
  return new PortableKey(secret) as unknown as SigningKey;
}

/** HMAC-SHA256 over the parts one after the other, without joining them: 32 bytes. Strings count as UTF-8. */
export function hmacSha256(key: SigningKey, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const running = beginHmacSha256(key);
  for (const part of parts) running.update(part);
  return running.digest();
}

/** An HMAC-SHA256 whose message arrives in parts. Strings count as UTF-8; after `digest` it is used up. */
export function beginHmacSha256(key: SigningKey): RunningHmac {
  return (key as unknown as PortableKey).begin();
}

/** SHA-256 over the parts one after the other, without joining them: 32 bytes. Strings count as UTF-8. */
export function sha256(parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  return digestOf("sha256", parts);
}

/** The digest of the parts one after the other, without joining them. Strings count as UTF-8. */
export function digestOf(algorithm: DigestAlgorithm, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const hash = HASHES[algorithm].create();
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Whether two digests of one length are equal, in a time that does not depend on where they differ. */
export function equalDigests(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) throw new RangeError("Digests that are compared have the same length.");
  let difference = 0;
  for (const [index, byte] of one.entries()) difference |= byte ^ (other[index] as number);
  return difference === 0;
}

/** An HMAC that has hashed its key. It is private, so that printing the key does not show its state. */
class PortableKey {
  readonly #keyed: ReturnType<typeof hmac.create>;

  constructor(secret: Uint8Array) {
    this.#keyed = hmac.create(sha2Of256, secret);
  }

  begin(): RunningHmac {
    return this.#keyed.clone();
  }
}
