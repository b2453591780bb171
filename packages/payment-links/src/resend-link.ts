import type { Tx } from "@collections/database";
import { isLive, type LinkStatus } from "./link-status.ts";
import { deliveriesOfLink, type LinkDelivery } from "./link-delivery.ts";
import { type Channel, CHANNELS, type LinkKey, lockLink, type PaymentLink } from "./payment-link.ts";
import { type ChannelFacts, createDeliveries, type DeliveriesMade } from "./record-delivery.ts";

/** How often a link goes over one channel, the first time included: more would be a nuisance to the borrower. */
export const MAX_MESSAGES_PER_CHANNEL = 3;

/** What came of a wish to send a link again. */
export type LinkResent =
  | ({ readonly kind: "resent"; readonly link: PaymentLink } & DeliveriesMade)
  | { readonly kind: "not_live"; readonly status: LinkStatus }
  | { readonly kind: "used_up"; readonly channel: Channel };

/**
 * Makes a further delivery for each channel: unless told those that the link was asked for, or every one for a link
 * that was only to be shown. Throws PaymentLinkNotFoundError. Hold the lock on the case before.
 */
export async function resendLink(
  tx: Tx,
  { channels, facts, ...key }: LinkKey & Resending,
  now: Date,
): Promise<LinkResent> {
  const link = await lockLink(tx, key);
  if (!isLive(link)) return { kind: "not_live", status: link.status };
  const wanted = [...new Set(channels ?? (link.channels.length > 0 ? link.channels : CHANNELS))];
  const usedUp = usedUpChannel(await deliveriesOfLink(tx, link), wanted);
  if (usedUp) return { kind: "used_up", channel: usedUp };
  return { kind: "resent", link, ...createDeliveries(tx, link, facts, now, wanted) };
}

interface Resending {
  readonly channels?: readonly Channel[] | undefined;
  readonly facts: Readonly<Record<Channel, ChannelFacts>>;
}

/** Those that were suppressed count too: asking on does not change what the borrower said. */
function usedUpChannel(deliveries: readonly LinkDelivery[], channels: readonly Channel[]): Channel | undefined {
  return channels.find(
    (wanted) => deliveries.filter(({ channel }) => channel === wanted).length >= MAX_MESSAGES_PER_CHANNEL,
  );
}
