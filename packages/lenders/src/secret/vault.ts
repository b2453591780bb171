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

/** Encrypts secrets for storage. A sealed value can be decrypted only with the same master key and the same context. */
export interface Vault {
  /**
   * The id of the master key that `seal` uses: the first 8 hex digits of the key's SHA-256. Each sealed value contains
   * the id.
   */
  readonly masterKeyId: string;
  /**
   * Encrypts a text and returns `v1:<masterKeyId>:<base64 of iv, tag and ciphertext>`. `context` names the row and column
   * that the value is stored in.
   */
  seal(plain: string, context: string): string;
  /** Works like `seal`, but with the master key that has this id: the current or the previous one. */
  sealUnder(masterKeyId: string, plain: string, context: string): string;
  /** Decrypts a sealed value. Throws SealedValueError. */
  open(sealed: string, context: string): string;
}

/**
 * Thrown for a master key that is not 64 hex digits. The message does not contain the key.
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

/** The reason why a sealed value cannot be decrypted. */
export type SealedValueFault = "UNKNOWN_MASTER_KEY" | "SEALED_VALUE_ALTERED" | "SEALED_VALUE_MALFORMED";

/**
 * Thrown if a sealed value cannot be decrypted. `code` is the reason, `context` names the row and column of the value.
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
  /** The id of the master key that the value was sealed under, if the value contains one. */
  readonly masterKeyId: string | undefined;

  constructor(code: SealedValueFault, context: string, message: string, masterKeyId?: string) {
    super(message);
    this.code = code;
    this.context = context;
    this.masterKeyId = masterKeyId;
  }
}

/**
 * Creates a vault that encrypts with AES-256-GCM. Each master key has 64 hex digits. `seal` uses `masterKey`; `open`
 * also accepts values that were sealed under `previous`. During a rotation, `previous` is the old key. A process that
 * still has the old key as `masterKey` gets the new key as `previous`. Throws InvalidMasterKeyError.
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
    if (key === undefined) throw new RangeError(`The vault does not have the master key ${masterKeyId}.`);
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

/** Returns the id of the master key that a value is sealed under. */
export function masterKeyIdOf(sealed: string): string | undefined {
  return sealed.split(":")[1];
}

/** Decrypts a sealed value. Returns the error instead of throwing it. */
export function tryOpen(vault: Vault, sealed: string, context: string): string | SealedValueError {
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
    `${context} does not contain a sealed value; register the secret again.`,
  );
}

function unknownKey(context: string, masterKeyId: string, known: string[]): SealedValueError {
  const message =
    `${context} was sealed under the master key ${masterKeyId}, but this process knows only ${known.join(" and ")}. ` +
    `Set that key as the master key of this process or, during a rotation, as its previous master key.`;
  return new SealedValueError("UNKNOWN_MASTER_KEY", context, message, masterKeyId);
}

function altered(context: string, masterKeyId: string): SealedValueError {
  const message = `${context} cannot be decrypted: the sealed value was changed, or copied from another row or column.`;
  return new SealedValueError("SEALED_VALUE_ALTERED", context, message, masterKeyId);
}
