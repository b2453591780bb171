import type { Tx } from "@collections/entities";
import { OperatorSessionEntity, SecondPersonRequestEntity, SignInLinkEntity, UsedFormEntity } from "./schema.ts";

const KEEP_MS = 7 * 24 * 60 * 60_000;

/**
 * Deletes links, sessions and requests for a second person that expired a week ago, and forms that were used a week ago. The
 * audit keeps the acts. Returns the number of deleted rows.
 *
 * @example
 * const deletedRows = await transaction(em, (tx) => deleteEndedSessions(tx, now));
 */
export async function deleteEndedSessions(tx: Tx, now: Date): Promise<number> {
  const longAgo = { $lte: new Date(now.getTime() - KEEP_MS) };
  const links = await tx.nativeDelete(SignInLinkEntity, { expiresAt: longAgo });
  const sessions = await tx.nativeDelete(OperatorSessionEntity, { expiresAt: longAgo });
  const requests = await tx.nativeDelete(SecondPersonRequestEntity, { expiresAt: longAgo });
  return links + sessions + requests + (await tx.nativeDelete(UsedFormEntity, { usedAt: longAgo }));
}
