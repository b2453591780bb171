import { query, statement, type Tx } from "@collections/database";
import { MUTATION_RESULT_TTL_MS } from "./mutation-result.ts";

/** One statement each: a session takes its tokens with it, and of an open one the expired tokens go. */
const forgettings = [
  ["results", "delete from field_partners.mutation_result where created_at <= $1"],
  ["otps", "delete from field_partners.otp where requested_at <= $1"],
  ["sessions", "delete from field_partners.session where expires_at <= $1"],
  ["tokens", "delete from field_partners.token_pair where refresh_expires_at <= $1"],
].map(([what, text]) =>
  statement(`field-partners.forget-${what}`, `with gone as (${text} returning 1) select count(*) as gone from gone`),
);

/**
 * Deletes results and one-time passwords that answer nobody any more, and sessions and tokens a week after their end.
 * Returns how many rows went.
 *
 * @example
 * const forgotten = await transaction(em, (tx) => forgetExpired(tx, now));
 */
export async function forgetExpired(tx: Tx, now: Date): Promise<number> {
  const oldest = new Date(now.getTime() - MUTATION_RESULT_TTL_MS);
  let gone = 0n;
  for (const forgetting of forgettings) gone += (await query<{ gone: bigint }>(tx, forgetting, [oldest]))[0]!.gone;
  return Number(gone);
}
