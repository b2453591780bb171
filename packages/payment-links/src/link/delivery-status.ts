/**
 * The statuses of a delivery, in ascending rank. `failed` ranks above `sent`, because a channel that accepted a message
 * may report later that it could not deliver it. `delivered` and `read` rank above `failed`, because a message that the
 * borrower has received can no longer fail.
 *
 * @example
 * const byStatus = new Map(DELIVERY_STATUSES.map((status) => [status, 0]));
 */
export const DELIVERY_STATUSES = ["queued", "suppressed", "sent", "failed", "delivered", "read"] as const;
/** One of DELIVERY_STATUSES. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/**
 * The failure code of a message whose outcome is unknown: the channel may or may not have accepted it.
 *
 * @example
 * const report = { lenderId, id: delivery.id, status: "failed", failureCode: OUTCOME_UNKNOWN } as const;
 * const { became } = await recordDelivery(tx, report, now);
 */
export const OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN";

/** A status of a message, as a channel or a job reported it. */
export interface ReportedStatus {
  readonly status: DeliveryStatus;
  readonly failureCode?: string | null;
}

/**
 * Returns whether the reported status ranks above the known one. Reports arrive in any order, so the highest status
 * wins, not the last one. Any report of the channel ranks above an unknown outcome.
 *
 * @example
 * isNews({ status: "sent" }, { status: "failed", failureCode: "UNDELIVERABLE" }); // true
 */
export function isNews(known: ReportedStatus, reported: ReportedStatus): boolean {
  return rankOf(reported) > rankOf(known);
}

function rankOf({ status, failureCode }: ReportedStatus): number {
  const rank = DELIVERY_STATUSES.indexOf(status);
  return status === "failed" && failureCode === OUTCOME_UNKNOWN ? DELIVERY_STATUSES.indexOf("sent") - 0.5 : rank;
}

/** Tells whether the channel has accepted the message. */
export function isSuccess(status: DeliveryStatus): boolean {
  return status === "sent" || status === "delivered" || status === "read";
}

/**
 * The failure code of a message that was not sent because its link was paid or superseded before the message was sent.
 *
 * @example
 * const report = { lenderId, id: delivery.id, status: "suppressed", failureCode: LINK_NOT_LIVE } as const;
 * if (!isLive(link)) await recordDelivery(tx, report, now);
 */
export const LINK_NOT_LIVE = "LINK_NOT_LIVE";

/**
 * Tells whether the link has deliveries and all of them have failed or were suppressed.
 *
 * @example
 * isUndelivered([{ status: "failed", failureCode: "UNDELIVERABLE" }, { status: "suppressed" }]); // true
 */
export function isUndelivered(deliveries: readonly ReportedStatus[]): boolean {
  return deliveries.length > 0 && deliveries.every(isClosed);
}

function isClosed({ status }: ReportedStatus): boolean {
  return status === "failed" || status === "suppressed";
}
