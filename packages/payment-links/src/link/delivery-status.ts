/**
 * The statuses of a delivery, from the least to the most telling. A failure outranks `sent`, because a channel that
 * took a message may report later that it could not deliver it; what the borrower has received can no longer fail.
 *
 * @example
 * const byStatus = new Map(DELIVERY_STATUSES.map((status) => [status, 0]));
 */
export const DELIVERY_STATUSES = ["queued", "suppressed", "sent", "failed", "delivered", "read"] as const;
/** One of DELIVERY_STATUSES. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/**
 * The code of a failure that is none yet: nobody knows whether the channel has taken the message.
 *
 * @example
 * const report = { lenderId, id: delivery.id, status: "failed", failureCode: OUTCOME_UNKNOWN } as const;
 * const { became } = await recordDelivery(tx, report, now);
 */
export const OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN";

/** A status as a channel or a job told it. */
export interface StatusTold {
  readonly status: DeliveryStatus;
  readonly failureCode?: string | null;
}

/**
 * Whether what is reported tells more than what is known: reports arrive in any order, so the best one wins and not the
 * last. Whatever the channel says tells more than "unknown".
 *
 * @example
 * isNews({ status: "sent" }, { status: "failed", failureCode: "UNDELIVERABLE" }); // true
 */
export function isNews(known: StatusTold, reported: StatusTold): boolean {
  return rankOf(reported) > rankOf(known);
}

function rankOf({ status, failureCode }: StatusTold): number {
  const rank = DELIVERY_STATUSES.indexOf(status);
  return status === "failed" && failureCode === OUTCOME_UNKNOWN ? DELIVERY_STATUSES.indexOf("sent") - 0.5 : rank;
}

/** Whether the message is on its way to the borrower or there. */
export function isSuccess(status: DeliveryStatus): boolean {
  return status === "sent" || status === "delivered" || status === "read";
}

/**
 * The code of a message that is not sent because its link was paid, or gave way to another, before its turn came.
 *
 * @example
 * const report = { lenderId, id: delivery.id, status: "suppressed", failureCode: LINK_NOT_LIVE } as const;
 * if (!isLive(link)) await recordDelivery(tx, report, now);
 */
export const LINK_NOT_LIVE = "LINK_NOT_LIVE";

/**
 * Whether a link was to be sent and no channel can bring it any more.
 *
 * @example
 * isUndelivered([{ status: "failed", failureCode: "UNDELIVERABLE" }, { status: "suppressed" }]); // true
 */
export function isUndelivered(deliveries: readonly StatusTold[]): boolean {
  return deliveries.length > 0 && deliveries.every(isClosed);
}

function isClosed({ status }: StatusTold): boolean {
  return status === "failed" || status === "suppressed";
}
