import { type EntityManager, newId, query, statement, type Tx } from "@collections/database";
import { createHash, randomBytes } from "node:crypto";
import { FieldPartnerNotFoundError } from "./field-partner-fault.ts";
import type { FieldPartner } from "./field-partner.ts";
import { FieldPartnerEntity, SessionEntity } from "./schema.ts";

const TOKEN_BYTES = 32;
/** How long a token counts that an operator hands out. */
export const OPERATOR_TOKEN_TTL_MS = 24 * 60 * 60 * 1000;

const fieldPartnerOfToken = statement(
  "field-partners.by-token",
  `select f.id, f.display_name as "displayName", f.phone, f.time_zone as "timeZone", f.state, f.created_at as "createdAt"
   from field_partners.session s join field_partners.field_partner f on f.id = s.field_partner_id
   where s.access_token_hash = $1 and s.revoked_at is null and s.expires_at > $2 and f.state = 'active'`,
);

/**
 * A session for an active field partner. The token, `fpt_` and 256 random bits, is shown here only: the database keeps
 * its SHA-256. Throws FieldPartnerNotFoundError.
 */
export async function issueAccessToken(
  tx: Tx,
  fieldPartnerId: string,
  options: { ttlMs?: number; now?: Date } = {},
): Promise<{ accessToken: string; expiresAt: Date }> {
  const { ttlMs = OPERATOR_TOKEN_TTL_MS, now = new Date() } = options;
  const fieldPartner = await tx.findOne(FieldPartnerEntity, { id: fieldPartnerId, state: "active" });
  if (!fieldPartner) throw new FieldPartnerNotFoundError(fieldPartnerId);
  const accessToken = `fpt_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
  const expiresAt = new Date(now.getTime() + ttlMs);
  tx.create(SessionEntity, {
    id: newId(),
    fieldPartnerId,
    accessTokenHash: hashOf(accessToken),
    issuedAt: now,
    expiresAt,
    revokedAt: null,
  });
  return { accessToken, expiresAt };
}

/** Whose token this is; undefined when it is unknown, expired or revoked, or its field partner is suspended. */
export async function fieldPartnerByToken(
  em: EntityManager,
  accessToken: string,
  now: Date,
): Promise<FieldPartner | undefined> {
  if (!/^fpt_[A-Za-z0-9_-]{43}$/.test(accessToken)) return undefined;
  const [fieldPartner] = await query<FieldPartner>(em, fieldPartnerOfToken, [hashOf(accessToken), now]);
  return fieldPartner;
}

/** Ends the session of this token; one that is no session is none afterwards either. */
export async function revokeAccessToken(tx: Tx, accessToken: string, now: Date = new Date()): Promise<void> {
  await tx.nativeUpdate(SessionEntity, { accessTokenHash: hashOf(accessToken), revokedAt: null }, { revokedAt: now });
}

/** A plain hash is enough: nobody guesses 256 random bits. */
function hashOf(accessToken: string): Buffer {
  return createHash("sha256").update(accessToken).digest();
}
