import assert from "node:assert/strict";
import { newId, type Tx } from "@collections/database";
import { type DeliveryStatus, isNews, isSuccess, isUndelivered, OUTCOME_UNKNOWN } from "../link/delivery-status.ts";
import { deliveriesOf } from "../link/find-links.ts";
import { insertDelivery, type LinkDelivery, moveDeliveries, saveDeliveries } from "../link/link-delivery.ts";
import { isLive, nextLinkStatus } from "../link/link-status.ts";
import { type Channel, lockLinksOfDeliveries, type PaymentLink, saveSent } from "../link/payment-link.ts";

/** What decides whether a message may go out on a channel. */
export interface ChannelFacts {
  /** What the borrower said of this channel. Absent or null means allowed. */
  readonly consent?: boolean | null | undefined;
  /** Whether there is a number or an e-mail address. */
  readonly hasAddress: boolean;
  /** Whether the channel is set up: for WhatsApp the lender's account, for e-mail the operator's server. */
  readonly isConfigured: boolean;
}

/** Why a message is not sent over a channel. */
export type SuppressionCode = "CONSENT_REFUSED" | "NOT_CONFIGURED" | "NO_ADDRESS";

/**
 * Why no message goes out, or undefined when one does.
 *
 * @example
 * suppressionOf({ consent: false, hasAddress: true, isConfigured: true }); // "CONSENT_REFUSED"
 */
export function suppressionOf({ consent, hasAddress, isConfigured }: ChannelFacts): SuppressionCode | undefined {
  if (consent === false) return "CONSENT_REFUSED";
  if (!hasAddress) return "NO_ADDRESS";
  return isConfigured ? undefined : "NOT_CONFIGURED";
}

/** `deliveries`: the new ones. `undelivered`: a link was to be sent and no channel can bring it. */
export interface DeliveriesMade {
  readonly deliveries: readonly LinkDelivery[];
  readonly undelivered: boolean;
}

/** The messages to make: over the channels that the link was asked for unless told. */
export interface DeliveriesWanted {
  readonly channels?: readonly Channel[];
  /** Messages with the same link of the lender's. The transaction has locked their links. */
  readonly earlier?: readonly LinkDelivery[];
}

/**
 * One delivery for each channel: `queued`, for which a job is to be enqueued in the same transaction, or `suppressed`.
 * An earlier one that has gone, or may have, is the link's from now on, whatever is still to come of it: no further one
 * follows over its channel, and a link whose message has gone is `sent`.
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
  { channels = link.channels, earlier = [] }: DeliveriesWanted = {},
): DeliveriesMade {
  const adopted = earlier.filter(mayHaveGone);
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

/** What a channel reports of a delivery. */
export interface DeliveryReport {
  readonly lenderId: string;
  /** The delivery's. */
  readonly id: string;
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

/**
 * `recordDeliveries` for one report.
 *
 * @example
 * const told = { status: "sent", providerMessageId: "wamid.HBgMOTE5ODAwMDAwMDAx" } as const;
 * const { became } = await recordDelivery(tx, { lenderId, id: delivery.id, ...told }, now);
 */
export async function recordDelivery(tx: Tx, report: DeliveryReport, now: Date): Promise<DeliveryRecorded> {
  const [recorded] = await recordDeliveries(tx, report.lenderId, [report], now);
  assert.ok(recorded, "each report is recorded");
  return recorded;
}

/**
 * Takes reports of a lender's deliveries in any order: the best status stays, not the last. One write, however many.
 * Report `failed` only when nobody will try again. Hold the locks on the cases before, so that no delivery moves to
 * another link meanwhile.
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
): Promise<DeliveryRecorded[]> {
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

/** Not one that nobody has begun to send: its link gives way to the newer one, and it is suppressed. */
function mayHaveGone({ status, failureCode, startedAt }: LinkDelivery): boolean {
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
