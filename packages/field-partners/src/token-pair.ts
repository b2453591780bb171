import { createHash, type KeyObject, randomBytes } from "node:crypto";
import { newId, query, statement } from "@collections/database";
import type { Tx } from "@collections/entities";
import { TokenPairEntity } from "./schema.ts";
import { derivedSecret, type SignInKeys } from "./sign-in-keys.ts";

/**
 * How long an access token from a sign-in or a refresh is valid.
 *
 * @example
 * const renewAt = new Date(now.getTime() + ACCESS_TOKEN_TTL_MS - 60_000);
 */
export const ACCESS_TOKEN_TTL_MS = 15 * 60 * 1000;
/**
 * How long a refresh token is valid after it was issued.
 *
 * @example
 * const signedOutAt = new Date(now.getTime() + REFRESH_TOKEN_TTL_MS);
 */
export const REFRESH_TOKEN_TTL_MS = 30 * 24 * 60 * 60 * 1000;

const TOKEN_BYTES = 32;
const TOKEN = /^fp[tr]_[A-Za-z0-9_-]{43}$/;

/**
 * The tokens for the app. The database has only their hashes, so they cannot be read back. A repeat of the same request
 * gets the same tokens, because they are derived from the request.
 */
export interface Tokens {
  readonly accessToken: string;
  readonly accessExpiresAt: Date;
  readonly refreshToken: string;
  readonly refreshExpiresAt: Date;
}

const unusedPair = statement(
  "field-partners.unused-token-pair",
  `select t.access_expires_at as "accessExpiresAt", t.refresh_expires_at as "refreshExpiresAt", s.id as "sessionId"
   from field_partners.token_pair t
   join field_partners.session s on s.id = t.session_id
   join field_partners.field_partner f on f.id = s.field_partner_id
   where t.refresh_token_hash = $1 and t.used_at is null and t.issued_at > $2
     and s.revoked_at is null and f.state = 'active'`,
);

/** Returns whether a text has the form of an access token (`fpt`) or a refresh token (`fpr`). */
export function looksLikeToken(kind: "fpt" | "fpr", text: string): boolean {
  return text.startsWith(`${kind}_`) && TOKEN.test(text);
}

/** Returns a random access token. */
export function randomAccessToken(): string {
  return `fpt_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
}

/** Returns the SHA-256 of a token. A plain hash is enough, because a token has 256 random bits and cannot be guessed. */
export function tokenHash(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Adds tokens to a session. They are derived from `seed`, which contains the values of the client's request. */
export async function addTokenPair(
  tx: Tx,
  keys: SignInKeys,
  { sessionId, seed }: { sessionId: string; seed: readonly string[] },
  now: Date,
): Promise<Tokens> {
  const accessExpiresAt = new Date(now.getTime() + ACCESS_TOKEN_TTL_MS);
  const refreshExpiresAt = new Date(now.getTime() + REFRESH_TOKEN_TTL_MS);
  const { accessToken, refreshToken } = tokensOf(keys.tokens[0]!, seed);
  tx.create(TokenPairEntity, {
    id: newId(),
    sessionId,
    accessTokenHash: tokenHash(accessToken),
    accessExpiresAt,
    refreshTokenHash: tokenHash(refreshToken),
    refreshExpiresAt,
    issuedAt: now,
    usedAt: null,
    usedKey: null,
  });
  await tx.flush();
  return { accessToken, accessExpiresAt, refreshToken, refreshExpiresAt };
}

/**
 * Returns the tokens that were issued for the same seed in the last `withinMs`, if the refresh token is still unused:
 * the answer with these tokens may have been lost. The access token may have expired since then.
 */
export async function findUnusedTokens(
  tx: Tx,
  keys: SignInKeys,
  { seed, withinMs }: { readonly seed: readonly string[]; readonly withinMs: number },
  now: Date,
): Promise<{ sessionId: string; tokens: Tokens } | undefined> {
  const notBefore = new Date(now.getTime() - withinMs);
  // Tries both keys: during a rotation of the master key, another process may have issued the tokens with the other key.
  for (const key of keys.tokens) {
    const derived = tokensOf(key, seed);
    const [known] = await query<{ accessExpiresAt: Date; refreshExpiresAt: Date; sessionId: string }>(tx, unusedPair, [
      tokenHash(derived.refreshToken),
      notBefore,
    ]);
    if (known) {
      const { sessionId, accessExpiresAt, refreshExpiresAt } = known;
      return { sessionId, tokens: { ...derived, accessExpiresAt, refreshExpiresAt } };
    }
  }
  return undefined;
}

function tokensOf(key: KeyObject, seed: readonly string[]): Pick<Tokens, "accessToken" | "refreshToken"> {
  return {
    accessToken: `fpt_${derivedSecret(key, "access", ...seed)}`,
    refreshToken: `fpr_${derivedSecret(key, "refresh", ...seed)}`,
  };
}
