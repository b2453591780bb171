import { type EntityManager, query, statement } from "@collections/database";
import { type LinkKey, linkColumns, type PaymentLink } from "../link/payment-link.ts";

/**
 * Lets one job make the one mint call of a link, by one statement that is committed when it returns: outside any
 * transaction, so that the call follows at once. Undefined when the link is settled, or when somebody has begun the call:
 * nobody knows what came of it then, and it is never made again. `now` is by the database's clock, and its own unless
 * told: another process judges by that whether a call that was begun is lost.
 *
 * @example
 * const claimed = await claimMint(em, { lenderId, id: link.id });
 * if (claimed === undefined) return; // settled, or somebody has begun the call
 */
export async function claimMint(
  em: EntityManager,
  { lenderId, id, now }: LinkKey & { readonly now?: Date },
): Promise<PaymentLink | undefined> {
  const [claimed] = await query<PaymentLink>(em, claimFree, [lenderId, id, now ?? null]);
  return claimed;
}

// Citus refuses now() within COALESCE in SET. In a materialized CTE it evaluates now() once, on the coordinator, and sends
// one command; as a sub-select the row would go to the node by a COPY first.
const claimFree = statement(
  "payment-links.claim-mint",
  `with claim as materialized (select coalesce($3::timestamptz, now()) as at)
   update payment_links.payment_link l
   set mint_started_at = claim.at, updated_at = claim.at
   from claim
   where l.lender_id = $1 and l.id = $2 and l.status = 'requested' and l.mint_started_at is null
   returning ${linkColumns}`,
);
