import type { Tx } from "@collections/entities";
import { isLive, type LinkStatus } from "../link/link-status.ts";
import { LINK_NOT_LIVE } from "../link/delivery-status.ts";
import { deliveriesOf } from "../link/find-links.ts";
import type { LinkDelivery } from "../link/link-delivery.ts";
import { type Channel, CHANNELS, type LinkKey, lockLinksOfCase, type PaymentLink } from "../link/payment-link.ts";
import { type ChannelFacts, type CreatedDeliveries, createDeliveries } from "./record-delivery.ts";

/**
 * The maximum number of messages with one link over one channel, including the first message, so that the borrower is
 * not flooded. Messages are counted by the lender's linkId, so the messages of repeated requests for the same link
 * count together.
 *
 * @example
 * const sent = (await deliveriesOf(em, [link])).filter(({ channel }) => channel === "whatsapp");
 * const left = MAX_MESSAGES_PER_CHANNEL - sent.length;
 */
export const MAX_MESSAGES_PER_CHANNEL = 3;

/** The channels to send a link over again, and the facts about every channel. */
export interface ResendOptions {
  readonly channels?: readonly Channel[] | undefined;
  readonly facts: Readonly<Record<Channel, ChannelFacts>>;
}

/** The outcome of a request to send a link again. */
export type ResendOutcome =
  | ({ readonly kind: "resent"; readonly link: PaymentLink } & CreatedDeliveries)
  | { readonly kind: "not_live"; readonly status: LinkStatus }
  | { readonly kind: "used_up"; readonly channel: Channel };

/**
 * Creates another delivery for each of the given channels. Default: the channels that the field partner chose for the
 * link, or all channels if that list was empty. The caller holds the lock on the case. Throws PaymentLinkNotFoundError.
 *
 * @example
 * const open = { hasAddress: true, isConfigured: true };
 * const facts = { whatsapp: open, email: open };
 * const resent = await resendLink(tx, { lenderId, id: link.id, channels: ["email"], facts }, now);
 * if (resent.kind === "used_up") throw new Error(`The link was sent over ${resent.channel} as often as is allowed.`);
 */
export async function resendLink(
  tx: Tx,
  { channels, facts, ...key }: LinkKey & ResendOptions,
  now: Date,
): Promise<ResendOutcome> {
  const { link, others } = await lockLinksOfCase(tx, key);
  if (!isLive(link)) return { kind: "not_live", status: link.status };
  const wanted = [...new Set(channels ?? (link.channels.length > 0 ? link.channels : CHANNELS))];
  const same = others.filter(({ linkId }) => linkId === link.linkId);
  const usedUp = usedUpChannel(await deliveriesOf(tx, [link, ...same]), wanted);
  if (usedUp) return { kind: "used_up", channel: usedUp };
  return { kind: "resent", link, ...createDeliveries(tx, link, facts, now, { channels: wanted }) };
}

/**
 * Returns the first of `channels` over which the link already has the maximum number of messages. Suppressed messages
 * count too, because asking again does not change the borrower's consent. Messages that were not sent because their link
 * was no longer live do not count.
 */
function usedUpChannel(deliveries: readonly LinkDelivery[], channels: readonly Channel[]): Channel | undefined {
  const counted = deliveries.filter(({ failureCode }) => failureCode !== LINK_NOT_LIVE);
  return channels.find(
    (wanted) => counted.filter(({ channel }) => channel === wanted).length >= MAX_MESSAGES_PER_CHANNEL,
  );
}
