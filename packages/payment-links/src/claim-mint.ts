import assert from "node:assert/strict";
import { type EntityManager, query, statement } from "@collections/database";
import { linkById } from "./find-links.ts";
import { type LinkKey, linkColumns, type PaymentLink, PaymentLinkNotFoundError } from "./payment-link.ts";

/**
 * What a mint job may do. `claimed`: make the call. `started_before`: another run of the job may have made it at
 * `link.mintStartedAt` and nobody knows what came of it: never call again. `settled`: it is decided, do nothing.
 */
export type MintClaim =
  | { readonly kind: "claimed"; readonly link: PaymentLink }
  | { readonly kind: "started_before"; readonly link: PaymentLink }
  | { readonly kind: "settled" };

/**
 * Lets one job make the one mint call of a link, by one statement that is committed when it returns: outside any
 * transaction, so that the call follows at once. Throws PaymentLinkNotFoundError.
 */
export async function claimMint(
  em: EntityManager,
  { now, ...key }: LinkKey & { readonly now: Date },
): Promise<MintClaim> {
  const [claimed] = await query<PaymentLink>(em, claimFree, [key.lenderId, key.id, now]);
  if (claimed) return { kind: "claimed", link: claimed };
  const link = await linkById(em, key);
  if (!link) throw new PaymentLinkNotFoundError(key);
  if (link.status !== "requested") return { kind: "settled" };
  assert(link.mintStartedAt, "a link that is requested and not begun is free to be claimed");
  return { kind: "started_before", link };
}

const claimFree = statement(
  "payment-links.claim-mint",
  `update payment_links.payment_link l set mint_started_at = $3, updated_at = $3
   where l.lender_id = $1 and l.id = $2 and l.status = 'requested' and l.mint_started_at is null
   returning ${linkColumns}`,
);
