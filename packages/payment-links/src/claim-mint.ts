import type { Tx } from "@collections/database";
import { type LinkKey, lockLink, type PaymentLink, saveLink } from "./payment-link.ts";

/**
 * What a mint job may do. `claimed`: make the call. `started_before`: another run of the job may have made it at
 * `link.mintStartedAt` and nobody knows what came of it: never call again. `settled`: it is decided, do nothing.
 */
export type MintClaim =
  | { readonly kind: "claimed"; readonly link: PaymentLink }
  | { readonly kind: "started_before"; readonly link: PaymentLink }
  | { readonly kind: "settled" };

/** Lets one job make the one mint call of a link; commit before calling. Throws PaymentLinkNotFoundError. */
export async function claimMint(tx: Tx, claim: LinkKey & { readonly now: Date }): Promise<MintClaim> {
  const { now } = claim;
  const link = await lockLink(tx, claim);
  if (link.status !== "requested") return { kind: "settled" };
  if (link.mintStartedAt !== null) return { kind: "started_before", link };
  const claimed = { ...link, mintStartedAt: now, updatedAt: now };
  saveLink(tx, claimed);
  return { kind: "claimed", link: claimed };
}
