import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/** The prefix of a token: `opl` for a sign-in link, `ops` for a session. */
export type TokenKind = "opl" | "ops";

/** Returns a random token with 256 bits. */
export function randomToken(kind: TokenKind): string {
  return `${kind}_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
}

/** Returns whether a text has the form of a token of this kind. */
export function looksLikeToken(kind: TokenKind, text: string): boolean {
  return text.startsWith(`${kind}_`) && /^op[ls]_[A-Za-z0-9_-]{43}$/.test(text);
}

/** Returns the SHA-256 of a token. A plain hash is enough, because nobody can guess 256 random bits. */
export function tokenHash(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
