import { randomBytes } from "node:crypto";

const KEY_ID_BYTES = 12;
const SECRET_BYTES = 32;

/** A new API key id: `lk_` and 24 hex digits. It is no secret. */
export function newApiKeyId(): string {
  return `lk_${randomBytes(KEY_ID_BYTES).toString("hex")}`;
}

/** Whether the text can be an API key id at all: what cannot is answered without asking the database. */
export function isApiKeyId(text: string): boolean {
  return /^lk_[0-9a-z]{24}$/.test(text);
}

/**
 * A new secret of 256 bits, `sk_<environment>_` and 64 hex digits. The key of the HMAC is the UTF-8 bytes of this whole
 * text, prefix included. `environment` is the deployment's name, such as `sandbox` or `live`.
 */
export function newHmacSecret(environment: string): string {
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(environment)) {
    throw new RangeError(`An environment is named in a-z, 0-9 and "-", such as sandbox; got "${environment}".`);
  }
  return `sk_${environment}_${randomBytes(SECRET_BYTES).toString("hex")}`;
}
