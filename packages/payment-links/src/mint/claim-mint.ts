import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type LinkKey, linkColumns, type PaymentLink } from "../link/payment-link.ts";

/**
 * Lets one job make the only mint call of a link. The single SQL statement runs outside any transaction and is
 * committed when it returns, so the call can follow at once. Returns undefined if the link is settled (its status is no
 * longer `requested`), or if another job has started the call: such a call is never repeated, because its outcome is
 * unknown. `now` is a time of the database's clock (default: its current time), because another process compares it
 * with the current time to decide whether a started call is lost.
 *
 * @example
 * const claimed = await claimMint(em, { lenderId, id: link.id });
 * if (claimed === undefined) return; // settled, or another job has started the call
 */
export async function claimMint(
  em: EntityManager,
  { lenderId, id, now }: LinkKey & { readonly now?: Date },
): Promise<PaymentLink | undefined> {
  const [claimed] = await query<PaymentLink>(em, claimFree, [lenderId, id, now ?? null]);
  return claimed;
}

// The time is computed in a materialized CTE for the sake of Citus, which evaluates it there once, on the coordinator,
// and sends one command to the node. Citus rejects now() within COALESCE in SET. With a sub-select, it would first copy
// the row to the node by COPY.
const claimFree = statement(
  "payment-links.claim-mint",
  `with claim as materialized (select coalesce($3::timestamptz, now()) as at)
   update payment_links.payment_link l
   set mint_started_at = claim.at, updated_at = claim.at
   from claim
   where l.lender_id = $1 and l.id = $2 and l.status = 'requested' and l.mint_started_at is null
   returning ${linkColumns}`,
);
