import assert from "node:assert/strict";
import { newId, type Tx } from "@collections/database";
import { betterStatus, type DeliveryStatus, isSuccess, isUndelivered } from "./delivery-status.ts";
import { deliveriesOfLink, insertDelivery, type LinkDelivery, saveDelivery } from "./link-delivery.ts";
import { isLive, nextLinkStatus } from "./link-status.ts";
import { type Channel, lockLink, type PaymentLink, saveLink } from "./payment-link.ts";

/** What decides whether a message may go out on a channel. */
export interface ChannelFacts {
  /** What the borrower said of this channel. Absent or null means allowed. */
  readonly consent?: boolean | null | undefined;
  /** Whether there is a number or an e-mail address. */
  readonly hasAddress: boolean;
  /** Whether the channel is set up: for WhatsApp the lender's account, for e-mail the operator's server. */
  readonly isConfigured: boolean;
}

export type SuppressionCode = "CONSENT_REFUSED" | "NOT_CONFIGURED" | "NO_ADDRESS";

/** Why no message goes out, or undefined when one does. */
export function suppressionOf({ consent, hasAddress, isConfigured }: ChannelFacts): SuppressionCode | undefined {
  if (consent === false) return "CONSENT_REFUSED";
  if (!hasAddress) return "NO_ADDRESS";
  return isConfigured ? undefined : "NOT_CONFIGURED";
}

/** `undelivered`: a link was to be sent and every channel is suppressed. */
export interface DeliveriesMade {
  readonly deliveries: readonly LinkDelivery[];
  readonly undelivered: boolean;
}

/**
 * One delivery for each channel that the link was asked for: `queued`, for which a job is to be enqueued in the same
 * transaction, or `suppressed`.
 */
export function createDeliveries(
  tx: Tx,
  link: PaymentLink,
  facts: Readonly<Record<Channel, ChannelFacts>>,
  now: Date,
): DeliveriesMade {
  const deliveries = link.channels.map((channel) => newDelivery(link, channel, suppressionOf(facts[channel]), now));
  for (const delivery of deliveries) insertDelivery(tx, delivery);
  return { deliveries, undelivered: isUndelivered(deliveries) };
}

/** What a channel reports of a delivery. */
export interface DeliveryReport {
  readonly lenderId: string;
  /** The delivery's id, and its link's. */
  readonly id: string;
  readonly paymentLinkId: string;
  readonly status: Exclude<DeliveryStatus, "queued">;
  readonly providerMessageId?: string;
  readonly failureCode?: string;
  readonly failureDetail?: string;
}

/**
 * `became`: what the report made of the link as a whole: `sent` at its first success, `undelivered` when its last way
 * to the borrower closed; each at most once for a live link, else null.
 */
export interface DeliveryRecorded {
  readonly link: PaymentLink;
  readonly delivery: LinkDelivery;
  readonly became: "sent" | "undelivered" | null;
}

/**
 * Takes a report in any order: the best status stays, not the last. Report `failed` only when nobody will try again.
 * Throws PaymentLinkNotFoundError. Hold the lock on the case before.
 */
export async function recordDelivery(tx: Tx, report: DeliveryReport, now: Date): Promise<DeliveryRecorded> {
  const link = await lockLink(tx, { lenderId: report.lenderId, id: report.paymentLinkId });
  const before = await deliveriesOfLink(tx, link);
  const known = before.find(({ id }) => id === report.id);
  assert.ok(known, `the delivery ${report.id} is not one of its link's`);
  const delivery = reported(known, report, now);
  saveDelivery(tx, delivery);

  const after = before.map((one) => (one === known ? delivery : one));
  const status = isSuccess(delivery.status) ? nextLinkStatus(link.status, "deliver") : undefined;
  if (status) {
    const sent = { ...link, status, sentAt: now, updatedAt: now };
    saveLink(tx, sent);
    return { link: sent, delivery, became: "sent" };
  }
  const isNews = isLive(link) && isUndelivered(after) && !isUndelivered(before);
  return { link, delivery, became: isNews ? "undelivered" : null };
}

function newDelivery(
  link: PaymentLink,
  channel: Channel,
  suppression: SuppressionCode | undefined,
  now: Date,
): LinkDelivery {
  return {
    lenderId: link.lenderId,
    id: newId(),
    paymentLinkId: link.id,
    channel,
    status: suppression ? "suppressed" : "queued",
    providerMessageId: null,
    failureCode: suppression ?? null,
    failureDetail: null,
    startedAt: null,
    createdAt: now,
    updatedAt: now,
  };
}

/** The message id is kept whatever the status. What failed once and arrived after all has no failure. */
function reported(known: LinkDelivery, report: DeliveryReport, now: Date): LinkDelivery {
  const status = betterStatus(known.status, report.status);
  const isFailure = status === "failed" || status === "suppressed";
  const tellsOfIt = status === report.status;
  return {
    ...known,
    status,
    providerMessageId: known.providerMessageId ?? report.providerMessageId ?? null,
    failureCode: isFailure ? ((tellsOfIt ? report.failureCode : undefined) ?? known.failureCode) : null,
    failureDetail: isFailure ? ((tellsOfIt ? report.failureDetail : undefined) ?? known.failureDetail) : null,
    updatedAt: now,
  };
}
