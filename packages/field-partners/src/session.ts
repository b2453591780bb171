import { newId, query, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { LockMode } from "@mikro-orm/core";
import { recordFieldPartnerAct } from "./audit.ts";
import type { FieldPartner } from "./field-partner.ts";
import { FieldPartnerEntity, type SessionEnd, SessionEntity } from "./schema.ts";
import type { SignInKeys } from "./sign-in-keys.ts";
import { addTokenPair, looksLikeToken, REFRESH_TOKEN_TTL_MS, tokenHash, type Tokens } from "./token-pair.ts";

const MAX_SESSIONS_SHOWN = 100;

/** One sign-in of the app. It starts with a one-time password or with an operator's token. */
export interface Session {
  readonly id: string;
  readonly fieldPartnerId: string;
  /** The name of the device, as the app sent it. */
  readonly deviceName: string | null;
  readonly issuedAt: Date;
  /** When the session's tokens were last refreshed. */
  readonly refreshedAt: Date | null;
  /** When the session ends if its tokens are not refreshed. */
  readonly expiresAt: Date;
}

/** The field partner and the session of a request. */
export interface SignedIn {
  readonly sessionId: string;
  readonly fieldPartner: FieldPartner;
}

// LATERAL with a LIMIT makes PostgreSQL look up each token in the unique indexes, even in a plan without statistics.
// The parameters are the hashes ($1) and the time ($2).
const signedInWith = (columns: string) => `select encode(k.hash, 'hex') as hash${columns}
   from unnest($1::bytea[]) as k (hash)
   cross join lateral (
     select session_id from field_partners.token_pair
     where access_token_hash = k.hash and access_expires_at > $2 limit 1
   ) t
   cross join lateral (
     select id, field_partner_id from field_partners.session where id = t.session_id and revoked_at is null limit 1
   ) s
   cross join lateral (
     select * from field_partners.field_partner where id = s.field_partner_id and state = 'active' limit 1
   ) f`;

const signedInBy = statement(
  "field-partners.signed-in-by",
  signedInWith(`, s.id as "sessionId", ${tableOf(FieldPartnerEntity).selectList("f")}`),
);

const validTokens = statement("field-partners.access-tokens-that-count", signedInWith(""));

/**
 * Starts a session with its first tokens, or returns undefined if the field partner is not active. A concurrent suspension of
 * the field partner either commits first, or waits for this transaction and then ends the session.
 */
export async function startSession(
  tx: Tx,
  keys: SignInKeys,
  start: { fieldPartnerId: string; deviceName: string | null; seed: readonly string[] },
  now: Date,
): Promise<{ sessionId: string; tokens: Tokens } | undefined> {
  const { fieldPartnerId, deviceName, seed } = start;
  const expiresAt = new Date(now.getTime() + REFRESH_TOKEN_TTL_MS);
  const sessionId = await openSession(tx, { fieldPartnerId, deviceName, expiresAt, by: "otp" }, now);
  if (sessionId === undefined) return undefined;
  return { sessionId, tokens: await addTokenPair(tx, keys, { sessionId, seed }, now) };
}

/** Starts a session without tokens, or returns undefined if the field partner is not active. */
export async function openSession(
  tx: Tx,
  opening: { fieldPartnerId: string; deviceName: string | null; expiresAt: Date; by: "otp" | "operator" },
  now: Date,
): Promise<string | undefined> {
  const { fieldPartnerId, deviceName, expiresAt, by } = opening;
  const isActive = { id: fieldPartnerId, state: "active" as const };
  const lock = { lockMode: LockMode.PESSIMISTIC_READ, refresh: true } as const;
  if ((await tx.findOne(FieldPartnerEntity, isActive, lock)) === null) return undefined;
  const sessionId = newId();
  tx.create(SessionEntity, {
    id: sessionId,
    fieldPartnerId,
    deviceName,
    issuedAt: now,
    refreshedAt: null,
    expiresAt,
    revokedAt: null,
    endReason: null,
  });
  // Inserts the session before its tokens, which refer to it.
  await tx.flush();
  const actor = by === "otp" ? (`field_partner:${fieldPartnerId}` as const) : undefined;
  recordFieldPartnerAct(tx, { fieldPartnerId, act: "session.started", data: { sessionId, by }, actor }, now);
  return sessionId;
}

/**
 * Returns the field partner and the session of each valid access token, by token. Takes one query.
 *
 * @example
 * const signedIn = await signedInByTokens(em, [accessToken], now);
 * const name = signedIn.get(accessToken)?.fieldPartner.displayName;
 */
export async function signedInByTokens(
  em: EntityManager,
  accessTokens: readonly string[],
  now: Date,
): Promise<ReadonlyMap<string, SignedIn>> {
  const hashes = new Map(
    accessTokens.filter((token) => looksLikeToken("fpt", token)).map((token) => [token, tokenHash(token)]),
  );
  if (hashes.size === 0) return new Map();
  const rows = await query<FieldPartner & { hash: string; sessionId: string }>(em, signedInBy, [
    [...hashes.values()],
    now,
  ]);
  const signedIn = new Map(
    rows.map(({ hash, sessionId, ...fieldPartner }) => [hash, { sessionId, fieldPartner } satisfies SignedIn]),
  );
  return new Map(
    [...hashes].flatMap(([token, hash]) => {
      const found = signedIn.get(hash.toString("hex"));
      return found ? [[token, found] as const] : [];
    }),
  );
}

/**
 * Returns the access tokens in the list that are valid. Takes one query.
 *
 * @example
 * const valid = await validAccessTokens(em, [accessToken], now);
 * if (!valid.has(accessToken)) return; // close the connections of this token
 */
export async function validAccessTokens(
  em: EntityManager,
  accessTokens: readonly string[],
  now: Date,
): Promise<ReadonlySet<string>> {
  const tokens = [...new Set(accessTokens)].filter((token) => looksLikeToken("fpt", token));
  const rows = await query<{ hash: string }>(em, validTokens, [tokens.map(tokenHash), now]);
  const validHashes = new Set(rows.map(({ hash }) => hash));
  return new Set(tokens.filter((token) => validHashes.has(tokenHash(token).toString("hex"))));
}

/**
 * Returns a field partner's open sessions, newest first, at most 100.
 *
 * @example
 * const sessions = await openSessionsOf(em, fieldPartnerId, now);
 * const devices = sessions.map(({ deviceName }) => deviceName ?? "unnamed");
 */
export async function openSessionsOf(em: EntityManager, fieldPartnerId: string, now: Date): Promise<Session[]> {
  const isOpen = { fieldPartnerId, revokedAt: null, expiresAt: { $gt: now } };
  const newestFirst = { orderBy: { id: "desc" }, limit: MAX_SESSIONS_SHOWN, disableIdentityMap: true } as const;
  return em.find(SessionEntity, isOpen, { ...newestFirst, exclude: ["revokedAt", "endReason"] });
}

/**
 * Ends a field partner's session and all its tokens. Returns whether the session belongs to the field partner. A
 * session that has already ended stays unchanged.
 *
 * @example
 * const isTheirs = await endSession(tx, { sessionId, fieldPartnerId, reason: "signed_out" }, now);
 */
export async function endSession(
  tx: Tx,
  { sessionId, fieldPartnerId, reason }: { sessionId: string; fieldPartnerId: string; reason: SessionEnd },
  now: Date,
): Promise<boolean> {
  const theirs = { id: sessionId, fieldPartnerId };
  const ended = await tx.nativeUpdate(
    SessionEntity,
    { ...theirs, revokedAt: null },
    { revokedAt: now, endReason: reason },
  );
  if (ended === 0) return (await tx.count(SessionEntity, theirs)) > 0;
  const isOwner = reason === "signed_out" || reason === "ended_by_owner";
  const actor = isOwner ? (`field_partner:${fieldPartnerId}` as const) : undefined;
  recordFieldPartnerAct(tx, { fieldPartnerId, act: "session.ended", reason, data: { sessionId }, actor }, now);
  return true;
}
