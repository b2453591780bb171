import { query, statement, type Tx } from "@collections/database";
import { MUTATION_RESULT_TTL_MS } from "./mutation-result.ts";

/** The deletion of a session also deletes its tokens. The last one deletes the expired tokens of open sessions. */
const deletions = [
  ["results", "delete from field_partners.mutation_result where created_at <= $1"],
  ["otps", "delete from field_partners.otp where requested_at <= $1"],
  ["sessions", "delete from field_partners.session where expires_at <= $1"],
  ["tokens", "delete from field_partners.token_pair where refresh_expires_at <= $1"],
].map(([rows, text]) =>
  statement(`field-partners.forget-${rows}`, `with gone as (${text} returning 1) select count(*) as gone from gone`),
);

/**
 * Deletes mutation results and one-time passwords that are a week old, and sessions and tokens that expired a week ago.
 * Returns the number of deleted rows, without the tokens of deleted sessions.
 *
 * @example
 * const deletedRows = await transaction(em, (tx) => deleteExpired(tx, now));
 */
export async function deleteExpired(tx: Tx, now: Date): Promise<number> {
  const oldest = new Date(now.getTime() - MUTATION_RESULT_TTL_MS);
  let deletedRows = 0n;
  for (const deletion of deletions) deletedRows += (await query<{ gone: bigint }>(tx, deletion, [oldest]))[0]!.gone;
  return Number(deletedRows);
}
