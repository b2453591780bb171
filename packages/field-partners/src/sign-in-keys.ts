import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";

/** What only the service can compute: codes and tokens follow from it. The first of each is of the present master key. */
export interface SignInKeys {
  readonly otp: readonly KeyObject[];
  readonly tokens: readonly KeyObject[];
}

const KEY_BYTES = 32;
const OTP_DIGITS = 6;

/**
 * The keys of sign-in, derived from the master keys (64 hex digits each), so that neither tells of the other.
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

/** The code of a one-time password. It needs no place to be kept in: the same row and key make it again. */
export function otpCode(key: KeyObject, otpId: string): string {
  // 48 bits: that some codes are likelier than others by 1 in 2^28 helps nobody.
  const number = createHmac("sha256", key).update(otpId).digest().readUIntBE(0, 6) % 10 ** OTP_DIGITS;
  return String(number).padStart(OTP_DIGITS, "0");
}

/** 256 bits that follow from what the client sent and a key that no client has. */
export function derivedSecret(key: KeyObject, ...parts: readonly string[]): string {
  return createHmac("sha256", key).update(parts.join("\n")).digest("base64url");
}
