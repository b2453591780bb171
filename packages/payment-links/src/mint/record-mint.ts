import type { Tx } from "@collections/entities";
import { isLive, nextLinkStatus } from "../link/link-status.ts";
import { type LinkKey, type LinksOfCase, lockLink, type PaymentLink, saveLink } from "../link/payment-link.ts";
import type { UnavailableReason } from "../link/unavailable-reason.ts";

/** The reason why there is no link, and a sentence for operators. */
export interface UnavailableLink {
  readonly unavailable: UnavailableReason;
  readonly detail: string;
  /** Whether our own DNS or network failed, and not the lender. Default: false. */
  readonly ownFault?: boolean | undefined;
}

/** The lender's id of a link and the URL for the borrower, as `readMintAnswer` has checked them. */
export interface MintedLink {
  readonly linkId: string;
  readonly url: string;
  /**
   * When the link was paid, if its payment was confirmed before the mint was recorded. This can happen because lenders
   * can show a link to the borrower themselves.
   */
  readonly paidAt?: Date | undefined;
}

/**
 * A link after its mint. If `changed` is true, the link became `minted`, and the caller has to emit the event and send
 * the link.
 */
export interface RecordedMint {
  readonly link: PaymentLink;
  readonly changed: boolean;
  /** The link of the case that was live until now. */
  readonly superseded: PaymentLink | undefined;
  /** Other links of the case for which the lender returned the same linkId. */
  readonly sameLinkId: readonly PaymentLink[];
}

/**
 * Records that the lender has minted the link, and supersedes the live link of the case. If the link is already
 * settled, only the lender's id and URL are stored, so that a later payment can be attributed. The first argument is
 * the result of `lockLinksOfCase`.
 *
 * @example
 * const minted = { linkId: "plink_77", url: "https://pay.example.com/plink_77" };
 * const { changed, superseded } = recordMinted(tx, await lockLinksOfCase(tx, link), minted, now);
 */
export function recordMinted(tx: Tx, { link, others }: LinksOfCase, minted: MintedLink, now: Date): RecordedMint {
  const named = { ...link, linkId: link.linkId ?? minted.linkId, url: link.url ?? minted.url, updatedAt: now };
  const paidAt = minted.paidAt ?? paidAlready(link, others, minted);
  const status = nextLinkStatus(link.status, paidAt ? "pay" : "mint");
  if (status !== "minted") {
    const settled = status === "paid" ? { ...named, status, paidAt } : named;
    saveLink(tx, settled);
    return { link: settled, changed: false, superseded: undefined, sameLinkId: [] };
  }
  const superseded = supersede(others.find(isLive), now);
  // The superseded link is written first, because a unique index allows only one live link and is checked after each
  // SQL statement.
  if (superseded) saveLink(tx, superseded);
  const after = { ...named, status, mintedAt: now };
  saveLink(tx, after);
  const sameLinkId = others.filter(({ linkId }) => linkId === minted.linkId);
  return { link: after, changed: true, superseded, sameLinkId };
}

/**
 * Records that the link is unavailable. `detail` is a sentence for operators. A link that is already settled does not
 * change, and `changed` is false. Throws PaymentLinkNotFoundError.
 *
 * @example
 * const answer = { unavailable: "timeout", detail: "There was no answer within 10 seconds." } as const;
 * const { changed } = await recordUnavailable(tx, { lenderId, id: link.id }, answer, now);
 */
export async function recordUnavailable(
  tx: Tx,
  key: LinkKey,
  { unavailable, detail, ownFault = false }: UnavailableLink,
  now: Date,
): Promise<{ readonly link: PaymentLink; readonly changed: boolean }> {
  const link = await lockLink(tx, key);
  const status = nextLinkStatus(link.status, "fail");
  if (!status) return { link, changed: false };
  const after = {
    ...link,
    status,
    unavailableReason: unavailable,
    unavailableDetail: detail,
    unavailableOwnFault: ownFault,
    unavailableAt: now,
    updatedAt: now,
  };
  saveLink(tx, after);
  return { link: after, changed: true };
}

/**
 * Returns the time of payment if the lender returned the same link for an earlier request and that request's link has
 * been paid; otherwise null.
 */
function paidAlready(link: PaymentLink, others: readonly PaymentLink[], { linkId }: MintedLink): Date | null {
  const paid = others.find(
    (other) => other.mintKey === link.mintKey && other.linkId === linkId && other.status === "paid",
  );
  return paid?.paidAt ?? null;
}

function supersede(live: PaymentLink | undefined, now: Date): PaymentLink | undefined {
  const status = live && nextLinkStatus(live.status, "supersede");
  return status && { ...live, status, supersededAt: now, updatedAt: now };
}
