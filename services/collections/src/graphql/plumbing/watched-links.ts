import type { Database } from "@collections/entities";
import { validAccessTokens } from "@collections/field-partners";
import { deliveriesOf, type LinkDelivery, type LinkKey, ownLinks, type PaymentLink } from "@collections/payment-links";
import DataLoader from "dataloader";

/** How often every watched payment link is read, even without a signal of a change: a signal can be lost. */
export const READ_EVERY_MS = 5_000;

/** A payment link and the field partner who watches it. */
export interface OwnLinkKey extends LinkKey {
  readonly fieldPartnerId: string;
}

/** Reads the payment links of all subscriptions of a process together, with three queries for any number of links. */
export interface WatchedLinks {
  /** Calls `onTick` every few seconds, for all subscriptions at the same moment. Call the returned function to stop. */
  everyTick(onTick: () => void): () => void;
  /** Whether an access token is valid now. */
  signedIn(accessToken: string): Promise<boolean>;
  /** The current link and its messages; undefined for a link of another field partner. */
  link(key: OwnLinkKey): Promise<LinkReading | undefined>;
}

export interface LinkReading {
  readonly link: PaymentLink;
  readonly deliveries: readonly LinkDelivery[];
}

export function createWatchedLinks(database: Database): WatchedLinks {
  const listeners = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;

  // The loaders batch the calls of one tick of the event loop and cache nothing, so each call reads the current rows.
  const signedIn = new DataLoader<string, boolean>(
    async (tokens) => {
      const counting = await validAccessTokens(database.em(), tokens, new Date());
      return tokens.map((token) => counting.has(token));
    },
    { cache: false },
  );
  const link = new DataLoader<OwnLinkKey, LinkReading | undefined>(
    async (keys) => {
      const em = database.em();
      const links = await ownLinks(em, keys);
      const deliveries = Map.groupBy(await deliveriesOf(em, links), ({ paymentLinkId }) => paymentLinkId);
      const seen = new Map(links.map((one) => [one.id, { link: one, deliveries: deliveries.get(one.id) ?? [] }]));
      return keys.map(({ id, fieldPartnerId }) => {
        const found = seen.get(id);
        return found?.link.fieldPartnerId === fieldPartnerId ? found : undefined;
      });
    },
    { cache: false },
  );

  return {
    everyTick(onTick) {
      // Create a new function for each call: two subscriptions may pass the same function, and a Set would store it
      // only once.
      const listener = () => onTick();
      listeners.add(listener);
      timer ??= setInterval(() => listeners.forEach((one) => one()), READ_EVERY_MS);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    signedIn: (accessToken) => signedIn.load(accessToken),
    link: (key) => link.load(key),
  };
}
