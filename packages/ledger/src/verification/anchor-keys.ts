import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign, verify } from "node:crypto";

/** The key that signs anchors, and the public keys derived from the current and the previous master key. */
export interface AnchorKeys {
  /** The id of the signing key: the first 16 hex digits of the SHA-256 of its public key. Every anchor contains it. */
  readonly keyId: string;
  /** Returns the Ed25519 signature of a text, in base64. */
  sign(text: string): string;
  /** The public keys by their ids, the signing key first. They are not secret, and an auditor needs them. */
  readonly publicKeys: AnchorPublicKeys;
}

/** Public keys by their ids. `readAnchorPublicKey` creates a public key from its text. */
export type AnchorPublicKeys = ReadonlyMap<string, AnchorPublicKey>;

/** An Ed25519 public key that verifies anchors. */
export interface AnchorPublicKey {
  readonly keyId: string;
  /** The 32 bytes of the key in base64. */
  readonly text: string;
  /** Returns whether this key made the base64 `signature` over the text `signed`. */
  verifies(signed: string, signature: string): boolean;
}

/**
 * Thrown for a text that is not a public key for anchors. The message says which format is expected.
 *
 * @example
 * try {
 *   readAnchorPublicKey("hunter2");
 * } catch (error) {
 *   if (error instanceof InvalidAnchorKeyError) console.error(error.message);
 * }
 */
export class InvalidAnchorKeyError extends Error {
  override readonly name = "InvalidAnchorKeyError";
  readonly code = "INVALID_ANCHOR_KEY";
}

const KEY_BYTES = 32;
const KEY_ID_HEX_DIGITS = 16;
/** The DER header that PKCS #8 puts before the 32 bytes of an Ed25519 private key (RFC 8410). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * Derives the key that signs anchors from the master key (64 hex digits), by HKDF with its own label. The public key
 * derived from `previous` is included, so that older anchors can be verified too. Throws a TypeError if a master key does
 * not have 64 hex digits.
 *
 * @example
 * const keys = createAnchorKeys({ masterKey });
 * for (const { keyId, text } of keys.publicKeys.values()) console.log(`Public key ${keyId}: ${text}`);
 */
export function createAnchorKeys(masterKeys: { masterKey: string; previous?: string }): AnchorKeys {
  const current = privateKeyOf(masterKeys.masterKey);
  const known = [current, ...(masterKeys.previous === undefined ? [] : [privateKeyOf(masterKeys.previous)])];
  const publicKeys = known.map((key) => publicKeyFrom(createPublicKey(key)));
  return {
    keyId: publicKeys[0]!.keyId,
    sign: (text) => sign(null, Buffer.from(text), current).toString("base64"),
    publicKeys: new Map(publicKeys.map((key) => [key.keyId, key])),
  };
}

/**
 * Reads a public key from the base64 of its 32 bytes, the `text` of an AnchorPublicKey. Throws InvalidAnchorKeyError for
 * any other text.
 *
 * @example
 * const key = readAnchorPublicKey(createAnchorKeys({ masterKey }).publicKeys.values().next().value!.text);
 * const keys = new Map([[key.keyId, key]]);
 */
export function readAnchorPublicKey(text: string): AnchorPublicKey {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length !== KEY_BYTES || bytes.toString("base64") !== text) {
    throw new InvalidAnchorKeyError(
      `"${text}" is not a public key for anchors: expected 32 bytes in base64 (44 characters).`,
    );
  }
  const jwk = { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") };
  return publicKeyFrom(createPublicKey({ key: jwk, format: "jwk" }));
}

function privateKeyOf(masterKey: string): KeyObject {
  if (!/^[0-9a-fA-F]{64}$/.test(masterKey))
    throw new TypeError("The master key is invalid: expected 64 hex digits (32 bytes).");
  const seed = Buffer.from(hkdfSync("sha256", Buffer.from(masterKey, "hex"), "", "ledger/anchor", KEY_BYTES));
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: "der", type: "pkcs8" });
}

function publicKeyFrom(key: KeyObject): AnchorPublicKey {
  const bytes = Buffer.from(key.export({ format: "jwk" }).x!, "base64url");
  return {
    keyId: createHash("sha256").update(bytes).digest("hex").slice(0, KEY_ID_HEX_DIGITS),
    text: bytes.toString("base64"),
    verifies: (signed, signature) => verify(null, Buffer.from(signed), key, Buffer.from(signature, "base64")),
  };
}
