import type { Tx } from "@collections/database";
import { isLive, nextLinkStatus } from "../link/link-status.ts";
import { type LinkKey, type LinksOfCase, lockLink, type PaymentLink, saveLink } from "../link/payment-link.ts";
import type { UnavailableReason } from "../link/unavailable-reason.ts";

/** The lender's id of a link, and the URL for the borrower: checked by `readMintAnswer`. */
export interface MintedLink {
  readonly linkId: string;
  readonly url: string;
  /** A payment by it that was confirmed before the link is recorded: the lender may have shown it by itself. */
  readonly paidAt?: Date | undefined;
}

/** `changed`: the link is minted now and was not before, so tell the lender and send it. */
export interface MintRecorded {
  readonly link: PaymentLink;
  readonly changed: boolean;
  /** The link of the case that was live until now. */
  readonly superseded: PaymentLink | undefined;
  /** Earlier requests that the lender answered with the same link. */
  readonly twins: readonly PaymentLink[];
}

/**
 * The lender has minted the link; it takes the place of the case's live one. A link that is settled already only keeps
 * the lender's id and URL, so that a payment by it is still attributed. Takes what `lockLinksOfCase` has locked.
 *
 * @example
 * const minted = { linkId: "plink_77", url: "https://pay.example.com/plink_77" };
 * const { changed, superseded } = recordMinted(tx, await lockLinksOfCase(tx, link), minted, now);
 */
export function recordMinted(tx: Tx, { link, others }: LinksOfCase, minted: MintedLink, now: Date): MintRecorded {
  const named = { ...link, linkId: link.linkId ?? minted.linkId, url: link.url ?? minted.url, updatedAt: now };
  const paidAt = minted.paidAt ?? paidAlready(link, others, minted);
  const status = nextLinkStatus(link.status, paidAt ? "pay" : "mint");
  if (status !== "minted") {
    const settled = status === "paid" ? { ...named, status, paidAt } : named;
    saveLink(tx, settled);
    return { link: settled, changed: false, superseded: undefined, twins: [] };
  }
  const superseded = supersede(others.find(isLive), now);
  // In this order: the index that allows one live link looks at every statement.
  if (superseded) saveLink(tx, superseded);
  const after = { ...named, status, mintedAt: now };
  saveLink(tx, after);
  return { link: after, changed: true, superseded, twins: others.filter(({ linkId }) => linkId === minted.linkId) };
}

/**
 * There is no link, and why: `detail` is a sentence for operators. A link that is settled already stays as it is, with
 * `changed` false. Throws PaymentLinkNotFoundError.
 *
 * @example
 * const answer = { unavailable: "timeout", detail: "There was no answer within 10 seconds." } as const;
 * const { changed } = await recordUnavailable(tx, { lenderId, id: link.id }, answer, now);
 */
export async function recordUnavailable(
  tx: Tx,
  key: LinkKey,
  { unavailable, detail }: { readonly unavailable: UnavailableReason; readonly detail: string },
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
    unavailableAt: now,
    updatedAt: now,
  };
  saveLink(tx, after);
  return { link: after, changed: true };
}

/** A repeated request got the lender's earlier link again, and meanwhile that one was paid: so is this. */
function paidAlready(link: PaymentLink, others: readonly PaymentLink[], { linkId }: MintedLink): Date | null {
  const twin = others.find(
    (other) => other.mintKey === link.mintKey && other.linkId === linkId && other.status === "paid",
  );
  return twin?.paidAt ?? null;
}

function supersede(live: PaymentLink | undefined, now: Date): PaymentLink | undefined {
  const status = live && nextLinkStatus(live.status, "supersede");
  return status && { ...live, status, supersededAt: now, updatedAt: now };
}
