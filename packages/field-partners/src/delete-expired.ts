import type { Tx } from "@collections/entities";
import { MUTATION_RESULT_TTL_MS } from "./mutation-result.ts";
import { MutationResultEntity, OtpEntity, SessionEntity, TokenPairEntity } from "./schema.ts";

/**
 * Deletes mutation results and one-time passwords that are a week old, and sessions and tokens that expired a week ago.
 * Returns the number of deleted rows, not counting the tokens of deleted sessions.
 *
 * @example
 * const deletedRows = await transaction(em, (tx) => deleteExpired(tx, now));
 */
export async function deleteExpired(tx: Tx, now: Date): Promise<number> {
  const oldest = new Date(now.getTime() - MUTATION_RESULT_TTL_MS);
  const until = { $lte: oldest };
  const results = await tx.nativeDelete(MutationResultEntity, { createdAt: until });
  const otps = await tx.nativeDelete(OtpEntity, { requestedAt: until });
  // The foreign key also deletes the tokens of these sessions.
  const sessions = await tx.nativeDelete(SessionEntity, { expiresAt: until });
  const tokensOfOpenSessions = await tx.nativeDelete(TokenPairEntity, { refreshExpiresAt: until });
  return results + otps + sessions + tokensOfOpenSessions;
}
