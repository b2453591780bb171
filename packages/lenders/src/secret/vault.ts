import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from "node:crypto";

const VERSION = "v1";
const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_HEX_DIGITS = 8;

/** Keeps secrets at rest: what it seals, only the same master key opens, and only in the same place. */
export interface Vault {
  /** Names the master key that seals: the first 8 hex digits of its SHA-256. It stands in every sealed value. */
  readonly masterKeyId: string;
  /** `v1:<masterKeyId>:<base64 of iv, tag and ciphertext>`; `context` names the row and column it belongs to. */
  seal(plain: string, context: string): string;
  /** Seals under one of the vault's two keys, named by its id. */
  sealUnder(masterKeyId: string, plain: string, context: string): string;
  /** The sealed text. Throws SealedValueError. */
  open(sealed: string, context: string): string;
}

/**
 * The master key given is not a key. The message never shows it.
 *
 * @example
 * try {
 *   createVault({ masterKey: process.env["MASTER_KEY"] ?? "" });
 * } catch (error) {
 *   if (error instanceof InvalidMasterKeyError) console.error(`MASTER_KEY: ${error.message}`);
 * }
 */
export class InvalidMasterKeyError extends Error {
  override readonly name = "InvalidMasterKeyError";
  readonly code = "INVALID_MASTER_KEY";
}

/** Why a sealed value does not open. */
export type SealedValueFault = "UNKNOWN_MASTER_KEY" | "SEALED_VALUE_ALTERED" | "SEALED_VALUE_MALFORMED";

/**
 * A sealed value does not open: `code` says why, `context` where it is kept.
 *
 * @example
 * try {
 *   await whatsappAccount(em, vault, lenderId);
 * } catch (error) {
 *   if (error instanceof SealedValueError) console.error(error.code, error.context, error.masterKeyId);
 * }
 */
export class SealedValueError extends Error {
  override readonly name = "SealedValueError";
  readonly code: SealedValueFault;
  readonly context: string;
  /** The master key that the value was sealed under, where it can be read. */
  readonly masterKeyId: string | undefined;

  constructor(code: SealedValueFault, context: string, message: string, masterKeyId?: string) {
    super(message);
    this.code = code;
    this.context = context;
    this.masterKeyId = masterKeyId;
  }
}

/**
 * A vault over AES-256-GCM. Keys are 64 hex digits; `previous` opens what an earlier master key sealed (or what the
 * next one has sealed already); `seal` never uses it. Throws InvalidMasterKeyError.
 *
 * @example
 * const vault = createVault({ masterKey });
 * const sealed = vault.seal("Bearer 8f2e01", `lenders.lender.mint_auth_header/${lenderId}`);
 * const opened = vault.open(sealed, `lenders.lender.mint_auth_header/${lenderId}`);
 */
export function createVault(keys: { masterKey: string; previous?: string }): Vault {
  const current = readKey("master key", keys.masterKey);
  const previous = keys.previous === undefined ? undefined : readKey("previous master key", keys.previous);
  const known = new Map([...(previous ? [previous] : []), current].map(({ id, key }) => [id, key]));
  const sealUnder: Vault["sealUnder"] = (masterKeyId, plain, context) => {
    const key = known.get(masterKeyId);
    if (key === undefined) throw new RangeError(`This vault does not have the master key ${masterKeyId}.`);
    return `${VERSION}:${masterKeyId}:${encrypt(key, plain, context)}`;
  };
  return {
    masterKeyId: current.id,
    seal: (plain, context) => sealUnder(current.id, plain, context),
    sealUnder,
    open(sealed, context) {
      const [, masterKeyId = "", payload = ""] = /^v1:([0-9a-f]{8}):([A-Za-z0-9+/]+={0,2})$/.exec(sealed) ?? [];
      if (payload === "") throw malformed(context);
      const key = known.get(masterKeyId);
      if (key === undefined) throw unknownKey(context, masterKeyId, [...known.keys()]);
      return decrypt(key, payload, context, masterKeyId);
    },
  };
}

/** The id of the master key that a value is sealed under. */
export function masterKeyIdOf(sealed: string): string | undefined {
  return sealed.split(":")[1];
}

/** The sealed text, or the error that says why it does not open. */
export function opened(vault: Vault, sealed: string, context: string): string | SealedValueError {
  try {
    return vault.open(sealed, context);
  } catch (error) {
    if (error instanceof SealedValueError) return error;
    throw error;
  }
}

function readKey(what: string, hex: string): { id: string; key: KeyObject } {
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) {
    throw new InvalidMasterKeyError(
      `The ${what} must be 64 hex digits (32 bytes), as \`openssl rand -hex 32\` makes them; got ${hex.length} characters.`,
    );
  }
  const bytes = Buffer.from(hex, "hex");
  const id = createHash("sha256").update(bytes).digest("hex").slice(0, KEY_ID_HEX_DIGITS);
  return { id, key: createSecretKey(bytes) };
}

function encrypt(key: KeyObject, plain: string, context: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(context));
  const ciphertext = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString("base64");
}

function decrypt(key: KeyObject, payload: string, context: string, masterKeyId: string): string {
  const bytes = Buffer.from(payload, "base64");
  if (bytes.length < IV_BYTES + TAG_BYTES) throw malformed(context);
  const iv = bytes.subarray(0, IV_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
  } catch {
    throw altered(context, masterKeyId);
  }
}

function malformed(context: string): SealedValueError {
  return new SealedValueError(
    "SEALED_VALUE_MALFORMED",
    context,
    `${context} holds no sealed value; register the secret again.`,
  );
}

function unknownKey(context: string, masterKeyId: string, known: string[]): SealedValueError {
  const message =
    `${context} was sealed under the master key ${masterKeyId}, and this process knows ${known.join(" and ")}. ` +
    `Give it that key as well: as the master key, or as the previous one while they are being changed.`;
  return new SealedValueError("UNKNOWN_MASTER_KEY", context, message, masterKeyId);
}

function altered(context: string, masterKeyId: string): SealedValueError {
  const message = `${context} does not open: the sealed value was changed, or moved here from another row.`;
  return new SealedValueError("SEALED_VALUE_ALTERED", context, message, masterKeyId);
}
