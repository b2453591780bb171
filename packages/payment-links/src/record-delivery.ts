import assert from "node:assert/strict";
import { newId, type Tx } from "@collections/database";
import {
  ALREADY_SENT,
  type DeliveryStatus,
  isNews,
  isSuccess,
  isUndelivered,
  OUTCOME_UNKNOWN,
} from "./delivery-status.ts";
import { deliveriesOf } from "./find-links.ts";
import { insertDelivery, type LinkDelivery, saveDeliveries } from "./link-delivery.ts";
import { isLive, nextLinkStatus } from "./link-status.ts";
import { type Channel, lockLinks, type PaymentLink, PaymentLinkNotFoundError, saveSent } from "./payment-link.ts";

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

/** The messages to make: over the channels that the link was asked for unless told. */
export interface DeliveriesWanted {
  readonly channels?: readonly Channel[];
  /** Messages with the same link of the lender's: none follows over a channel that has one, or may have. */
  readonly earlier?: readonly LinkDelivery[];
}

/**
 * One delivery for each channel: `queued`, for which a job is to be enqueued in the same transaction, or `suppressed`.
 */
export function createDeliveries(
  tx: Tx,
  link: PaymentLink,
  facts: Readonly<Record<Channel, ChannelFacts>>,
  now: Date,
  { channels = link.channels, earlier = [] }: DeliveriesWanted = {},
): DeliveriesMade {
  const carried = new Set(earlier.filter(mayHaveGone).map(({ channel }) => channel));
  const deliveries = channels.map((channel) => {
    const suppression = carried.has(channel) ? ALREADY_SENT : suppressionOf(facts[channel]);
    return newDelivery(link, channel, suppression, now);
  });
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
 * to the borrower closed, for a live link only; else null.
 */
export interface DeliveryRecorded {
  readonly link: PaymentLink;
  readonly delivery: LinkDelivery;
  readonly became: "sent" | "undelivered" | null;
  /** Over which the link was to go to the borrower so far. */
  readonly channels: readonly Channel[];
}

/** `recordDeliveries` for one report. Throws PaymentLinkNotFoundError. */
export async function recordDelivery(tx: Tx, report: DeliveryReport, now: Date): Promise<DeliveryRecorded> {
  const [recorded] = await recordDeliveries(tx, report.lenderId, [report], now);
  assert.ok(recorded, "each report is recorded");
  return recorded;
}

/**
 * Takes reports of a lender's deliveries in any order: the best status stays, not the last. One write, however many.
 * Report `failed` only when nobody will try again. Throws PaymentLinkNotFoundError. Hold the locks on the cases before.
 */
export async function recordDeliveries(
  tx: Tx,
  lenderId: string,
  reports: readonly DeliveryReport[],
  now: Date,
): Promise<DeliveryRecorded[]> {
  const linkIds = [...new Set(reports.map(({ paymentLinkId }) => paymentLinkId))];
  const links = new Map((await lockLinks(tx, lenderId, linkIds)).map((link) => [link.id, link]));
  const deliveries = new Map((await deliveriesOf(tx, [...links.values()])).map((delivery) => [delivery.id, delivery]));
  const ofLink = (id: string) => [...deliveries.values()].filter(({ paymentLinkId }) => paymentLinkId === id);

  const recorded = reports.map((report) => {
    const link = links.get(report.paymentLinkId);
    if (!link) throw new PaymentLinkNotFoundError({ lenderId, id: report.paymentLinkId });
    const known = deliveries.get(report.id);
    assert.ok(known?.paymentLinkId === link.id, `the delivery ${report.id} is not one of its link's`);
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
    [...new Set(reports.map(({ id }) => id))].map((id) => deliveries.get(id)!),
  );
  saveSent(
    tx,
    lenderId,
    recorded.flatMap(({ link, became }) => (became === "sent" ? [link.id] : [])),
    now,
  );
  return recorded;
}

/** One that nobody has begun to send is none: its link gives way to the newer one, and it is suppressed. */
function mayHaveGone({ status, failureCode, startedAt }: LinkDelivery): boolean {
  if (status === "queued") return startedAt !== null;
  return isSuccess(status) || failureCode === OUTCOME_UNKNOWN;
}

function newDelivery(
  link: PaymentLink,
  channel: Channel,
  suppression: SuppressionCode | typeof ALREADY_SENT | undefined,
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
  const status = isNews(known, report) ? report.status : known.status;
  const isFailure = status === "failed" || status === "suppressed";
  const tellsOfIt = status === report.status && !isNews(report, known);
  return {
    ...known,
    status,
    providerMessageId: known.providerMessageId ?? report.providerMessageId ?? null,
    failureCode: isFailure ? ((tellsOfIt ? report.failureCode : undefined) ?? known.failureCode) : null,
    failureDetail: isFailure ? ((tellsOfIt ? report.failureDetail : undefined) ?? known.failureDetail) : null,
    updatedAt: now,
  };
}
