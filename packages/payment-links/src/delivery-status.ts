/**
 * From the least to the most telling. A failure outranks `sent`, because a channel that took a message may report later
 * that it could not deliver it; what the borrower has received can no longer fail.
 */
export const DELIVERY_STATUSES = ["queued", "suppressed", "sent", "failed", "delivered", "read"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The status to keep: reports arrive in any order, so the best one wins and not the last. */
export function betterStatus(known: DeliveryStatus, reported: DeliveryStatus): DeliveryStatus {
  return DELIVERY_STATUSES.indexOf(reported) > DELIVERY_STATUSES.indexOf(known) ? reported : known;
}

/** Whether the message is on its way to the borrower or there. */
export function isSuccess(status: DeliveryStatus): boolean {
  return status === "sent" || status === "delivered" || status === "read";
}

/** Whether a link was to be sent and no channel can bring it any more. */
export function isUndelivered(deliveries: readonly { readonly status: DeliveryStatus }[]): boolean {
  return deliveries.length > 0 && deliveries.every(({ status }) => status === "failed" || status === "suppressed");
}
