import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";

/** The maximum number of links that one query reads. */
const MOST_READ = 1_000;

/**
 * Returns whether a lender has minted one of its first 1,000 links. Reads no other links, so the time does not grow with
 * their number.
 *
 * @example
 * if (!(await hasMintedLink(em, lenderId))) console.log("The lender has not minted a link yet.");
 */
export async function hasMintedLink(em: EntityManager, lenderId: string): Promise<boolean> {
  const [row] = await query<{ isMinted: boolean }>(em, selectHasMinted, [lenderId]);
  return row!.isMinted;
}

const selectHasMinted = statement(
  "payment-links.has-minted-link",
  `select count(l.minted_at) > 0 as "isMinted"
   from (
     select p.minted_at from payment_links.payment_link p where p.lender_id = $1 order by p.id limit (select ${MOST_READ})
   ) l`,
);
