import { randomBytes } from "node:crypto";

const KEY_ID_BYTES = 12;
const SECRET_BYTES = 32;

/** Returns a new API key id: `lk_` and 24 hex digits. It is not secret. */
export function newApiKeyId(): string {
  return `lk_${randomBytes(KEY_ID_BYTES).toString("hex")}`;
}

/** Returns whether a text has the form of an API key id. Any other text can be rejected without a database query. */
export function isApiKeyId(text: string): boolean {
  return /^lk_[0-9a-z]{24}$/.test(text);
}

/**
 * Returns a new secret of 256 bits: `sk_<environment>_` and 64 hex digits. The HMAC key is the UTF-8 bytes of the whole text,
 * including the prefix. `environment` is the deployment's name, such as `sandbox` or `live`.
 */
export function newHmacSecret(environment: string): string {
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(environment)) {
    const expected = 'expected 1 to 32 characters of a-z, 0-9 and "-", starting with a letter, such as sandbox';
    throw new RangeError(`"${environment}" is not a valid name of an environment: ${expected}.`);
  }
  return `sk_${environment}_${randomBytes(SECRET_BYTES).toString("hex")}`;
}
