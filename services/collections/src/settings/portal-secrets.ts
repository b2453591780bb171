import { createHmac, createSecretKey, hkdfSync } from "node:crypto";

const KEY_BYTES = 32;

/**
 * Returns a function that derives the secrets of a portal link from the id of the request that asks for it: the first with
 * the current master key, the second with the previous one. A repeat of the request so gets the same link, although the
 * database has only its hash.
 */
export function createPortalSecrets(masterKeys: { readonly masterKey: string; readonly previous?: string }) {
  const known = [masterKeys.masterKey, ...(masterKeys.previous === undefined ? [] : [masterKeys.previous])];
  const keys = known.map((hex) =>
    createSecretKey(Buffer.from(hkdfSync("sha256", Buffer.from(hex, "hex"), "", "operators/portal-links", KEY_BYTES))),
  );
  return (requestId: string): string[] =>
    keys.map((key) => createHmac("sha256", key).update(requestId).digest("base64url"));
}
