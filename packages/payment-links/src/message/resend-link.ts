import type { Tx } from "@collections/database";
import { isLive, type LinkStatus } from "../link/link-status.ts";
import { LINK_NOT_LIVE } from "../link/delivery-status.ts";
import { deliveriesOf } from "../link/find-links.ts";
import type { LinkDelivery } from "../link/link-delivery.ts";
import { type Channel, CHANNELS, type LinkKey, lockLinksOfCase, type PaymentLink } from "../link/payment-link.ts";
import { type ChannelFacts, createDeliveries, type DeliveriesMade } from "./record-delivery.ts";

/**
 * How often a link of the lender's goes over one channel, the first time included, also where it was asked for several
 * times: more would be a nuisance to the borrower.
 *
 * @example
 * const sent = (await deliveriesOf(em, [link])).filter(({ channel }) => channel === "whatsapp");
 * const left = MAX_MESSAGES_PER_CHANNEL - sent.length;
 */
export const MAX_MESSAGES_PER_CHANNEL = 3;

/** Over which channels a link is to go again, and how things stand with each of them. */
export interface Resending {
  readonly channels?: readonly Channel[] | undefined;
  readonly facts: Readonly<Record<Channel, ChannelFacts>>;
}

/** What came of a wish to send a link again. */
export type LinkResent =
  | ({ readonly kind: "resent"; readonly link: PaymentLink } & DeliveriesMade)
  | { readonly kind: "not_live"; readonly status: LinkStatus }
  | { readonly kind: "used_up"; readonly channel: Channel };

/**
 * Makes a further delivery for each channel: unless told those that the link was asked for, or every one for a link
 * that was only to be shown. Throws PaymentLinkNotFoundError. Hold the lock on the case before.
 *
 * @example
 * const open = { hasAddress: true, isConfigured: true };
 * const facts = { whatsapp: open, email: open };
 * const resent = await resendLink(tx, { lenderId, id: link.id, channels: ["email"], facts }, now);
 * if (resent.kind === "used_up") throw new Error(`It has gone over ${resent.channel} as often as it may.`);
 */
export async function resendLink(
  tx: Tx,
  { channels, facts, ...key }: LinkKey & Resending,
  now: Date,
): Promise<LinkResent> {
  const { link, others } = await lockLinksOfCase(tx, key);
  if (!isLive(link)) return { kind: "not_live", status: link.status };
  const wanted = [...new Set(channels ?? (link.channels.length > 0 ? link.channels : CHANNELS))];
  const same = others.filter(({ linkId }) => linkId === link.linkId);
  const usedUp = usedUpChannel(await deliveriesOf(tx, [link, ...same]), wanted);
  if (usedUp) return { kind: "used_up", channel: usedUp };
  return { kind: "resent", link, ...createDeliveries(tx, link, facts, now, { channels: wanted }) };
}

/**
 * What was suppressed counts too, because asking on does not change what the borrower said; but not what gave way to
 * another link's message.
 */
function usedUpChannel(deliveries: readonly LinkDelivery[], channels: readonly Channel[]): Channel | undefined {
  const counted = deliveries.filter(({ failureCode }) => failureCode !== LINK_NOT_LIVE);
  return channels.find(
    (wanted) => counted.filter(({ channel }) => channel === wanted).length >= MAX_MESSAGES_PER_CHANNEL,
  );
}
