import type { Tx } from "@collections/database";
import { OperatorSessionEntity, SignInLinkEntity } from "./schema.ts";

const KEEP_MS = 7 * 24 * 60 * 60_000;

/**
 * Deletes links and sessions that expired a week ago. The audit keeps the acts. Returns the number of deleted rows.
 *
 * @example
 * const deletedRows = await transaction(em, (tx) => deleteEndedSessions(tx, now));
 */
export async function deleteEndedSessions(tx: Tx, now: Date): Promise<number> {
  const expiresAt = { $lte: new Date(now.getTime() - KEEP_MS) };
  const links = await tx.nativeDelete(SignInLinkEntity, { expiresAt });
  return links + (await tx.nativeDelete(OperatorSessionEntity, { expiresAt }));
}
