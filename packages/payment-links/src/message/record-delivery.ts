import assert from "node:assert/strict";
import { newId } from "@collections/database";
import type { Tx } from "@collections/entities";
import { type DeliveryStatus, isNews, isSuccess, isUndelivered, OUTCOME_UNKNOWN } from "../link/delivery-status.ts";
import { deliveriesOf } from "../link/find-links.ts";
import { insertDelivery, type LinkDelivery, moveDeliveries, saveDeliveries } from "../link/link-delivery.ts";
import { isLive, nextLinkStatus } from "../link/link-status.ts";
import { type Channel, lockLinksOfDeliveries, type PaymentLink, saveSent } from "../link/payment-link.ts";

/** The facts that decide whether a message may be sent over a channel. */
export interface ChannelFacts {
  /** Whether the borrower agreed to this channel. Absent or null means allowed. */
  readonly consent?: boolean | null | undefined;
  /** Whether the borrower has a phone number or an e-mail address for this channel. */
  readonly hasAddress: boolean;
  /** Whether the channel is set up: for WhatsApp the lender's account, for e-mail the operator's server. */
  readonly isConfigured: boolean;
}

/** Why a message is not sent over a channel. */
export type SuppressionCode = "CONSENT_REFUSED" | "NOT_CONFIGURED" | "NO_ADDRESS";

/**
 * Returns why no message may be sent over the channel, or undefined if it may be sent.
 *
 * @example
 * suppressionOf({ consent: false, hasAddress: true, isConfigured: true }); // "CONSENT_REFUSED"
 */
export function suppressionOf({ consent, hasAddress, isConfigured }: ChannelFacts): SuppressionCode | undefined {
  if (consent === false) return "CONSENT_REFUSED";
  if (!hasAddress) return "NO_ADDRESS";
  return isConfigured ? undefined : "NOT_CONFIGURED";
}

/** The new deliveries. `undelivered` is true if no channel can deliver the link. */
export interface CreatedDeliveries {
  readonly deliveries: readonly LinkDelivery[];
  readonly undelivered: boolean;
}

/** Options of `createDeliveries`. */
export interface DeliveryOptions {
  /** The channels to send the link over. Default: the channels that the field partner chose for it. */
  readonly channels?: readonly Channel[];
  /**
   * Deliveries of earlier requests for which the lender returned the same link. The transaction has locked their links.
   */
  readonly earlier?: readonly LinkDelivery[];
}

/**
 * Creates one delivery for each channel, `queued` or `suppressed`. The caller enqueues a job for each queued delivery,
 * in the same transaction. If a message of an earlier request was sent over a channel, or may have been, the delivery
 * of that message is assigned to this link, and no further message is sent over the channel. If the message was
 * certainly sent, the link becomes `sent`.
 *
 * @example
 * const whatsapp = { consent: true, hasAddress: true, isConfigured: true };
 * const email = { consent: null, hasAddress: false, isConfigured: true };
 * const { deliveries, undelivered } = createDeliveries(tx, link, { whatsapp, email }, now);
 * const toSend = deliveries.filter(({ status }) => status === "queued"); // enqueue a job for each
 */
export function createDeliveries(
  tx: Tx,
  link: PaymentLink,
  facts: Readonly<Record<Channel, ChannelFacts>>,
  now: Date,
  { channels = link.channels, earlier = [] }: DeliveryOptions = {},
): CreatedDeliveries {
  const adopted = earlier.filter(mayHaveBeenSent);
  moveDeliveries(
    tx,
    link,
    adopted.map(({ id }) => id),
  );
  if (adopted.some(({ status }) => isSuccess(status))) saveSent(tx, link.lenderId, [link.id], now);

  const deliveries = channels
    .filter((wanted) => !adopted.some(({ channel }) => channel === wanted))
    .map((channel) => newDelivery(link, channel, suppressionOf(facts[channel]), now));
  for (const delivery of deliveries) insertDelivery(tx, delivery);
  return { deliveries, undelivered: isUndelivered([...adopted, ...deliveries]) };
}

/** A report about a delivery, from the channel or from the job that sends the message. */
export interface DeliveryReport {
  readonly lenderId: string;
  /** The id of the delivery. */
  readonly id: string;
  readonly status: Exclude<DeliveryStatus, "queued">;
  readonly providerMessageId?: string;
  readonly failureCode?: string;
  readonly failureDetail?: string;
}

/**
 * A delivery after a report. `became` tells how the report changed the link: `sent` at the first success of any
 * channel, `undelivered` when the last channel of a live link has failed, otherwise null.
 */
export interface RecordedDelivery {
  readonly link: PaymentLink;
  readonly delivery: LinkDelivery;
  readonly became: "sent" | "undelivered" | null;
  /** The channels of all deliveries of the link. */
  readonly channels: readonly Channel[];
}

/**
 * Records one report about a delivery, as `recordDeliveries` records many.
 *
 * @example
 * const report = { status: "sent", providerMessageId: "wamid.HBgMOTE5ODAwMDAwMDAx" } as const;
 * const { became } = await recordDelivery(tx, { lenderId, id: delivery.id, ...report }, now);
 */
export async function recordDelivery(tx: Tx, report: DeliveryReport, now: Date): Promise<RecordedDelivery> {
  const [recorded] = await recordDeliveries(tx, report.lenderId, [report], now);
  assert.ok(recorded, "each report is recorded");
  return recorded;
}

/**
 * Records reports about deliveries of one lender. The reports may come in any order: the highest status is kept, not
 * the last one. The number of SQL statements does not depend on the number of reports. Report `failed` only if the
 * message will not be tried again. The caller holds the locks on the cases until the commit, so that no delivery is
 * assigned to another link.
 *
 * @example
 * const reports = [{ lenderId, id: delivery.id, status: "delivered" as const }];
 * const recorded = await recordDeliveries(tx, lenderId, reports, now);
 * const nowSent = recorded.filter(({ became }) => became === "sent");
 */
export async function recordDeliveries(
  tx: Tx,
  lenderId: string,
  reports: readonly DeliveryReport[],
  now: Date,
): Promise<RecordedDelivery[]> {
  const ids = [...new Set(reports.map(({ id }) => id))];
  const links = new Map((await lockLinksOfDeliveries(tx, lenderId, ids)).map((link) => [link.id, link]));
  const deliveries = new Map((await deliveriesOf(tx, [...links.values()])).map((delivery) => [delivery.id, delivery]));
  const ofLink = (id: string) => [...deliveries.values()].filter(({ paymentLinkId }) => paymentLinkId === id);

  const recorded = reports.map((report) => {
    const known = deliveries.get(report.id);
    assert.ok(known, `the lender ${lenderId} has no link delivery ${report.id}`);
    const link = links.get(known.paymentLinkId)!;
    const before = ofLink(link.id);
    const delivery = reported(known, report, now);
    deliveries.set(delivery.id, delivery);
    const after = ofLink(link.id);
    const channels = [...new Set(after.map(({ channel }) => channel))];
    const status = isSuccess(delivery.status) ? nextLinkStatus(link.status, "deliver") : undefined;
    if (status) {
      const sent = { ...link, status, sentAt: now, updatedAt: now };
      links.set(link.id, sent);
      return { link: sent, delivery, became: "sent" as const, channels };
    }
    const isClosed = isLive(link) && isUndelivered(after) && !isUndelivered(before);
    return { link, delivery, became: isClosed ? ("undelivered" as const) : null, channels };
  });
  saveDeliveries(
    tx,
    lenderId,
    ids.map((id) => deliveries.get(id)!),
  );
  saveSent(
    tx,
    lenderId,
    recorded.flatMap(({ link, became }) => (became === "sent" ? [link.id] : [])),
    now,
  );
  return recorded;
}

/**
 * Tells whether the message was sent or may have been sent. Returns false for a queued message that no job has started:
 * its link is superseded, so the message will be suppressed.
 */
function mayHaveBeenSent({ status, failureCode, startedAt }: LinkDelivery): boolean {
  if (status === "queued") return startedAt !== null;
  return isSuccess(status) || failureCode === OUTCOME_UNKNOWN;
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

/**
 * Returns the delivery after a report. The message id is stored whatever the status is. If a message that was reported
 * as failed is delivered after all, its failure is cleared.
 */
function reported(known: LinkDelivery, report: DeliveryReport, now: Date): LinkDelivery {
  const status = isNews(known, report) ? report.status : known.status;
  const isFailure = status === "failed" || status === "suppressed";
  const isReportOfStatus = status === report.status && !isNews(report, known);
  return {
    ...known,
    status,
    providerMessageId: known.providerMessageId ?? report.providerMessageId ?? null,
    failureCode: isFailure ? ((isReportOfStatus ? report.failureCode : undefined) ?? known.failureCode) : null,
    failureDetail: isFailure ? ((isReportOfStatus ? report.failureDetail : undefined) ?? known.failureDetail) : null,
    updatedAt: now,
  };
}
