import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/**
 * The prefix of a token: `opl` for an operator's sign-in link, `ops` for an operator's session, `ppl` and `pps` for those of
 * a lender's staff. So a process that does not know sessions of a lender's staff cannot mistake one for an operator's.
 */
export type TokenKind = "opl" | "ops" | "ppl" | "pps";

/** Returns a random token with 256 bits. */
export function randomToken(kind: TokenKind): string {
  return `${kind}_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
}

/** Returns whether a text has the form of the token of a link. */
export function looksLikeLink(text: string): boolean {
  return /^[op]pl_[A-Za-z0-9_-]{43}$/.test(text);
}

/** Returns whether a text has the form of the token of a session. */
export function looksLikeSession(text: string): boolean {
  return /^[op]ps_[A-Za-z0-9_-]{43}$/.test(text);
}

/** Returns the SHA-256 of a token. A plain hash is enough, because nobody can guess 256 random bits. */
export function tokenHash(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
