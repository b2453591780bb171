/**
 * The states of a link, as the database spells them. contract: States and transitions
 *
 * @example
 * const live = LINK_STATUSES.filter((status) => isLive({ status })); // minted, sent
 */
export const LINK_STATUSES = ["requested", "minted", "sent", "unavailable", "superseded", "paid"] as const;
/** One of LINK_STATUSES. */
export type LinkStatus = (typeof LINK_STATUSES)[number];

/** What can happen to a link: it is minted or not, reaches the borrower, gives way to a newer one, is paid. */
export type LinkTrigger = "mint" | "fail" | "deliver" | "supersede" | "pay";

/** Every transition there is. A confirmation pays any link, and a paid one stays paid. contract: States and transitions */
const TRANSITIONS: Readonly<Record<LinkStatus, Partial<Readonly<Record<LinkTrigger, LinkStatus>>>>> = {
  requested: { mint: "minted", fail: "unavailable", pay: "paid" },
  minted: { deliver: "sent", supersede: "superseded", pay: "paid" },
  sent: { supersede: "superseded", pay: "paid" },
  unavailable: { pay: "paid" },
  superseded: { pay: "paid" },
  paid: {},
};

/**
 * The status that follows, or undefined when the trigger does not move a link in this status.
 *
 * @example
 * nextLinkStatus("superseded", "pay"); // "paid"
 */
export function nextLinkStatus(status: LinkStatus, trigger: LinkTrigger): LinkStatus | undefined {
  return TRANSITIONS[status][trigger];
}

/**
 * Whether the borrower may pay by this link now: of a case at most one is live.
 *
 * @example
 * const found = await linkById(em, link);
 * const mayBePaid = found !== undefined && isLive(found);
 */
export function isLive({ status }: { readonly status: LinkStatus }): boolean {
  return status === "minted" || status === "sent";
}
