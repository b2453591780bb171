import type { DigestAlgorithm } from "./digest-algorithm.ts";
import { sha1 } from "./sha1.ts";
import type { RunningHmac } from "./running-hmac.ts";
import { Sha256 } from "./sha256.ts";
import { sha512 } from "./sha512.ts";
import type { SigningKey } from "./signing-key.ts";

const BLOCK_BYTES = 64;
const encoder = new TextEncoder();

/** Prepares an HMAC key, used as it is. Both padded keys are hashed once, here. */
export function prepareKey(secret: Uint8Array): SigningKey {
  return new PortableKey(secret) as unknown as SigningKey;
}

/** HMAC-SHA256 over the parts one after the other, without joining them: 32 bytes. Strings count as UTF-8. */
export function hmacSha256(key: SigningKey, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const hmac = beginHmacSha256(key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** An HMAC-SHA256 whose message arrives in parts. Strings count as UTF-8; after `digest` it is used up. */
export function beginHmacSha256(key: SigningKey): RunningHmac {
  const { inner, outer } = (key as unknown as PortableKey).begin();
  return {
    update: (part) => inner.update(bytesOf(part)),
    digest: () => outer.update(inner.digest()).digest(),
  };
}

/** SHA-256 over the parts one after the other, without joining them: 32 bytes. Strings count as UTF-8. */
export function sha256(parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  return hashParts(Sha256.start(), parts);
}

/** The digest of the parts one after the other. Strings count as UTF-8. */
export function digestOf(algorithm: DigestAlgorithm, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  if (algorithm === "sha256") return sha256(parts);
  const message = joined(parts);
  return algorithm === "sha1" ? sha1(message) : sha512(message);
}

/** Whether two digests of one length are equal, in a time that does not depend on where they differ. */
export function equalDigests(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) throw new RangeError("Digests that are compared have the same length.");
  let difference = 0;
  for (const [index, byte] of one.entries()) difference |= byte ^ (other[index] as number);
  return difference === 0;
}

/** RFC 2104's two hashes, each already fed with its padded key. */
class PortableKey {
  readonly #inner: Sha256;
  readonly #outer: Sha256;

  constructor(secret: Uint8Array) {
    const key = new Uint8Array(BLOCK_BYTES);
    key.set(secret.length > BLOCK_BYTES ? sha256([secret]) : secret);
    this.#inner = Sha256.start().update(key.map((byte) => byte ^ 0x36));
    this.#outer = Sha256.start().update(key.map((byte) => byte ^ 0x5c));
  }

  begin(): { inner: Sha256; outer: Sha256 } {
    return { inner: this.#inner.fork(), outer: this.#outer.fork() };
  }
}

function hashParts(hash: Sha256, parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  for (const part of parts) hash.update(bytesOf(part));
  return hash.digest();
}

function bytesOf(part: string | Uint8Array): Uint8Array {
  return typeof part === "string" ? encoder.encode(part) : part;
}

function joined(parts: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const chunks = parts.map(bytesOf);
  const message = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    message.set(chunk, offset);
    offset += chunk.length;
  }
  return message;
}
