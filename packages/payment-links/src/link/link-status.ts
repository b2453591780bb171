/**
 * The statuses of a link, as they are stored. contract: States and transitions
 *
 * @example
 * const live = LINK_STATUSES.filter((status) => isLive({ status })); // minted, sent
 */
export const LINK_STATUSES = ["requested", "minted", "sent", "unavailable", "superseded", "paid"] as const;
/** One of LINK_STATUSES. */
export type LinkStatus = (typeof LINK_STATUSES)[number];

/** The events that change a link's status: minted, not minted, sent to the borrower, replaced by a newer link, paid. */
export type LinkTrigger = "mint" | "fail" | "deliver" | "supersede" | "pay";

/**
 * All transitions. A confirmation marks a link in any status as paid, and a paid link stays paid.
 * contract: States and transitions
 */
const TRANSITIONS: Readonly<Record<LinkStatus, Partial<Readonly<Record<LinkTrigger, LinkStatus>>>>> = {
  requested: { mint: "minted", fail: "unavailable", pay: "paid" },
  minted: { deliver: "sent", supersede: "superseded", pay: "paid" },
  sent: { supersede: "superseded", pay: "paid" },
  unavailable: { pay: "paid" },
  superseded: { pay: "paid" },
  paid: {},
};

/**
 * Returns the next status, or undefined when the trigger does not change a link in this status.
 *
 * @example
 * nextLinkStatus("superseded", "pay"); // "paid"
 */
export function nextLinkStatus(status: LinkStatus, trigger: LinkTrigger): LinkStatus | undefined {
  return TRANSITIONS[status][trigger];
}

/**
 * Tells whether the borrower can pay by this link now. At most one link of a case is live.
 *
 * @example
 * const found = await linkById(em, link);
 * const mayBePaid = found !== undefined && isLive(found);
 */
export function isLive({ status }: { readonly status: LinkStatus }): boolean {
  return status === "minted" || status === "sent";
}
