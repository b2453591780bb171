import { newId } from "@collections/database";
import type { Tx } from "@collections/entities";
import { FieldPartnerNotFoundError } from "./field-partner-fault.ts";
import { TokenPairEntity } from "./schema.ts";
import { openSession } from "./session.ts";
import { randomAccessToken, tokenHash } from "./token-pair.ts";

/**
 * How long an access token from an operator is valid by default.
 *
 * @example
 * const ttlMs = Math.min(8 * 60 * 60_000, OPERATOR_TOKEN_TTL_MS);
 */
export const OPERATOR_TOKEN_TTL_MS = 24 * 60 * 60 * 1000;

/**
 * Starts a session for an active field partner on behalf of an operator, and returns its access token. The session cannot be
 * refreshed. The token is `fpt_` and 256 random bits. It cannot be read again later: the database has only its SHA-256.
 * Throws FieldPartnerNotFoundError.
 *
 * @example
 * const { accessToken, expiresAt } = await issueAccessToken(tx, fieldPartnerId, { ttlMs: 60 * 60_000 });
 */
export async function issueAccessToken(
  tx: Tx,
  fieldPartnerId: string,
  options: { ttlMs?: number; now?: Date } = {},
): Promise<{ accessToken: string; expiresAt: Date }> {
  const { ttlMs = OPERATOR_TOKEN_TTL_MS, now = new Date() } = options;
  // Flush first: the caller may have registered the field partner in this transaction, and the SQL below sees only
  // flushed rows.
  await tx.flush();
  const expiresAt = new Date(now.getTime() + ttlMs);
  const sessionId = await openSession(tx, { fieldPartnerId, deviceName: null, expiresAt, by: "operator" }, now);
  if (sessionId === undefined) throw new FieldPartnerNotFoundError(fieldPartnerId);
  const accessToken = randomAccessToken();
  tx.create(TokenPairEntity, {
    id: newId(),
    sessionId,
    accessTokenHash: tokenHash(accessToken),
    accessExpiresAt: expiresAt,
    refreshTokenHash: null,
    refreshExpiresAt: null,
    issuedAt: now,
    usedAt: null,
    usedKey: null,
  });
  return { accessToken, expiresAt };
}
