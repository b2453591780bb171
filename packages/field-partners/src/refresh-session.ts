import { type EntityManager, query, statement, type Tx } from "@collections/database";
import { judgeRefresh, REFRESH_REPEAT_MS, type RefreshState } from "./refresh-rule.ts";
import { endSession } from "./session.ts";
import type { SignInKeys } from "./sign-in-keys.ts";
import { addTokenPair, looksLikeToken, tokenHash, type Tokens, tokensAgain } from "./token-pair.ts";

/** What came of a refresh token. `conflict`: the key has given new tokens for another token of the session. */
export type RefreshOutcome =
  | { readonly kind: "refreshed"; readonly sessionId: string; readonly tokens: Tokens }
  /** Unknown, expired, signed out, suspended or used before: in any case one signs in again. */
  | { readonly kind: "over" }
  | { readonly kind: "conflict" };

const lockSession = statement(
  "field-partners.lock-session-of-refresh-token",
  `select id from field_partners.session
   where id = (select session_id from field_partners.token_pair where refresh_token_hash = $1)
   for no key update`,
);

const readSession = statement(
  "field-partners.session-of-refresh-token",
  `select session_id as id from field_partners.token_pair where refresh_token_hash = $1`,
);

/** Read after the lock: what others did meanwhile is in it. */
const readPair = statement(
  "field-partners.token-pair-by-refresh-token",
  `select t.id, t.session_id as "sessionId", t.refresh_expires_at as "refreshExpiresAt", t.used_at as "usedAt",
     t.used_key as "usedKey", s.field_partner_id as "fieldPartnerId",
     s.revoked_at is not null or f.state <> 'active' as "isOver",
     exists (select from field_partners.token_pair o where o.session_id = s.id and o.used_key = $2) as "isKeyTaken"
   from field_partners.token_pair t
   join field_partners.session s on s.id = t.session_id
   join field_partners.field_partner f on f.id = s.field_partner_id
   where t.refresh_token_hash = $1`,
);

const markUsed = statement(
  "field-partners.use-refresh-token",
  `update field_partners.token_pair set used_at = $2, used_key = $3 where id = $1 returning id`,
);

const prolong = statement(
  "field-partners.prolong-session",
  `update field_partners.session set refreshed_at = $2, expires_at = $3 where id = $1 returning id`,
);

/**
 * The session that a refresh token is or was of, also when it counts no more; undefined when it is nobody's.
 *
 * @example
 * const sessionId = await sessionOfRefreshToken(em, refreshToken);
 */
export async function sessionOfRefreshToken(em: EntityManager, refreshToken: string): Promise<string | undefined> {
  if (!looksLikeToken("fpr", refreshToken)) return undefined;
  const [session] = await query<{ id: string }>(em, readSession, [tokenHash(refreshToken)]);
  return session?.id;
}

/**
 * Gives new tokens for a refresh token, once. The same request again, within a day and before anybody has used the new
 * refresh token, gets the same tokens; a used token in any other case ends the session. The caller commits whatever this
 * returns.
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
  // One after the other for each session, so that two copies of a token never both give new ones.
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
      const again = await tokensAgain(tx, keys, { seed, within: REFRESH_REPEAT_MS }, now);
      if (again) return { kind: "refreshed", ...again };
      // Somebody has gone on with the new tokens, and who asks here never got them: one of the two has a copy.
      return endReused(tx, pair, now);
    }
    case "reused":
      return endReused(tx, pair, now);
    case "rotate": {
      await query(tx, markUsed, [id, now, idempotencyKey]);
      const tokens = await addTokenPair(tx, keys, { sessionId, seed }, now);
      await query(tx, prolong, [sessionId, now, tokens.refreshExpiresAt]);
      return { kind: "refreshed", sessionId, tokens };
    }
  }
}

async function endReused(tx: Tx, { sessionId, fieldPartnerId }: KnownPair, now: Date): Promise<RefreshOutcome> {
  await endSession(tx, { sessionId, fieldPartnerId, reason: "reused_token" }, now);
  return { kind: "over" };
}

interface KnownPair extends RefreshState {
  readonly id: string;
  readonly sessionId: string;
  readonly fieldPartnerId: string;
}
