import { query, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { judgeRefresh, REFRESH_REPEAT_MS, type RefreshState } from "./refresh-rule.ts";
import { SessionEntity, TokenPairEntity } from "./schema.ts";
import { endSession } from "./session.ts";
import type { SignInKeys } from "./sign-in-keys.ts";
import { addTokenPair, findUnusedTokens, looksLikeToken, tokenHash, type Tokens } from "./token-pair.ts";

/** The outcome of a refresh. */
export type RefreshOutcome =
  | { readonly kind: "refreshed"; readonly sessionId: string; readonly tokens: Tokens }
  /** The token is unknown, expired or used, or the session has ended. The field partner must sign in again. */
  | { readonly kind: "over" }
  /** The idempotency key was already used with another token of the session. */
  | { readonly kind: "conflict" };

const lockSession = statement(
  "field-partners.lock-session-of-refresh-token",
  `select id from field_partners.session
   where id = (select session_id from field_partners.token_pair where refresh_token_hash = $1)
   for no key update`,
);

const PAIR = ["id", "sessionId", "refreshExpiresAt", "usedAt", "usedKey"] as const;

/** Run this query after the session is locked, so that it sees the changes of concurrent requests. */
const readPair = statement(
  "field-partners.token-pair-by-refresh-token",
  `select ${tableOf(TokenPairEntity).selectList("t", PAIR)}, s.field_partner_id as "fieldPartnerId",
     s.revoked_at is not null or f.state <> 'active' as "isOver",
     exists (select from field_partners.token_pair o where o.session_id = s.id and o.used_key = $2) as "isKeyTaken"
   from field_partners.token_pair t
   join field_partners.session s on s.id = t.session_id
   join field_partners.field_partner f on f.id = s.field_partner_id
   where t.refresh_token_hash = $1`,
);

/**
 * Returns the id of the session that a refresh token belongs to, even if the token is not valid any more. Returns undefined
 * if the token is unknown.
 *
 * @example
 * const sessionId = await sessionOfRefreshToken(em, refreshToken);
 */
export async function sessionOfRefreshToken(em: EntityManager, refreshToken: string): Promise<string | undefined> {
  if (!looksLikeToken("fpr", refreshToken)) return undefined;
  const pair = await em.findOne(TokenPairEntity, { refreshTokenHash: tokenHash(refreshToken) });
  return pair?.sessionId;
}

/**
 * Exchanges a refresh token for new tokens. A token can be exchanged once. A repeat of the same request gets the same tokens,
 * if it comes within a day and the new refresh token is still unused. Any other request with a used token ends the session.
 * The caller must commit the transaction, whatever the outcome.
 *
 * @example
 * const given = { refreshToken, idempotencyKey };
 * const refreshed = await transaction(em, (tx) => refreshSession(tx, keys, given, now));
 * if (refreshed.kind === "over") return; // the app asks to sign in again
 */
export async function refreshSession(
  tx: Tx,
  keys: SignInKeys,
  { refreshToken, idempotencyKey }: { refreshToken: string; idempotencyKey: string },
  now: Date,
): Promise<RefreshOutcome> {
  if (!looksLikeToken("fpr", refreshToken)) return { kind: "over" };
  const hash = tokenHash(refreshToken);
  // Requests of one session run one after the other, so that two copies of a token are not both exchanged.
  await query(tx, lockSession, [hash]);
  const [pair] = await query<KnownPair>(tx, readPair, [hash, idempotencyKey]);
  if (!pair) return { kind: "over" };
  const { id, sessionId } = pair;
  const seed = ["refresh", refreshToken, idempotencyKey];
  switch (judgeRefresh(pair, idempotencyKey, now)) {
    case "over":
      return { kind: "over" };
    case "conflict":
      return { kind: "conflict" };
    case "repeat": {
      const unused = await findUnusedTokens(tx, keys, { seed, withinMs: REFRESH_REPEAT_MS }, now);
      if (unused) return { kind: "refreshed", ...unused };
      // The client presents an old refresh token, although the token that replaced it has been used. So two clients hold
      // the same old token, and one of them has copied it.
      return endReusedSession(tx, pair, now);
    }
    case "reused":
      return endReusedSession(tx, pair, now);
    case "rotate": {
      await tx.nativeUpdate(TokenPairEntity, { id }, { usedAt: now, usedKey: idempotencyKey });
      const tokens = await addTokenPair(tx, keys, { sessionId, seed }, now);
      const extended = { refreshedAt: now, expiresAt: tokens.refreshExpiresAt };
      await tx.nativeUpdate(SessionEntity, { id: sessionId }, extended);
      return { kind: "refreshed", sessionId, tokens };
    }
  }
}

async function endReusedSession(tx: Tx, { sessionId, fieldPartnerId }: KnownPair, now: Date): Promise<RefreshOutcome> {
  await endSession(tx, { sessionId, fieldPartnerId, reason: "reused_token" }, now);
  return { kind: "over" };
}

interface KnownPair extends RefreshState {
  readonly id: string;
  readonly sessionId: string;
  readonly fieldPartnerId: string;
}
