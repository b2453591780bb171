import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";

/**
 * The secret keys from which one-time passwords and tokens are derived. The first key of each list belongs to the current
 * master key, the second to the previous one.
 */
export interface SignInKeys {
  readonly otp: readonly KeyObject[];
  readonly tokens: readonly KeyObject[];
}

const KEY_BYTES = 32;
const OTP_DIGITS = 6;

/**
 * Derives the sign-in keys from the master keys (64 hex digits each). No key can be computed from another one.
 *
 * @example
 * const keys = createSignInKeys({ masterKey });
 */
export function createSignInKeys(masterKeys: { masterKey: string; previous?: string }): SignInKeys {
  const known = [masterKeys.masterKey, ...(masterKeys.previous === undefined ? [] : [masterKeys.previous])];
  const derived = (purpose: string) =>
    known.map((hex) =>
      createSecretKey(
        Buffer.from(hkdfSync("sha256", Buffer.from(hex, "hex"), "", `field-partners/${purpose}`, KEY_BYTES)),
      ),
    );
  return { otp: derived("otp"), tokens: derived("tokens") };
}

/**
 * Returns the code of a one-time password. It is derived from the row's id and a secret sign-in key, so it need not be
 * stored.
 */
export function otpCode(key: KeyObject, otpId: string): string {
  // Taking the remainder of a 48-bit number makes some codes more likely than others, by a factor of about 1 + 2^-28.
  // That does not help an attacker.
  const number = createHmac("sha256", key).update(otpId).digest().readUIntBE(0, 6) % 10 ** OTP_DIGITS;
  return String(number).padStart(OTP_DIGITS, "0");
}

/** Derives 256 bits from the client's values and a key that no client knows. */
export function derivedSecret(key: KeyObject, ...parts: readonly string[]): string {
  return createHmac("sha256", key).update(parts.join("\n")).digest("base64url");
}
