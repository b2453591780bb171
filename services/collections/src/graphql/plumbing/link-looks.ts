import type { Database } from "@collections/database";
import { accessTokensThatCount } from "@collections/field-partners";
import { deliveriesOf, type LinkDelivery, type LinkKey, ownLinks, type PaymentLink } from "@collections/payment-links";
import DataLoader from "dataloader";

/** Signals are hints, and one can be lost: what is watched is looked at this often in any case. */
const LOOK_EVERY_MS = 5_000;

/** A link, and who may see it. */
export interface OwnLinkKey extends LinkKey {
  readonly fieldPartnerId: string;
}

/** What all watchers of a process look at: together, so that it takes three statements however many they are. */
export interface LinkLooks {
  /** Calls `look` every few seconds, at the same moment for everybody; the returned function ends that. */
  everyTick(look: () => void): () => void;
  /** Whether an access token still counts. */
  signedIn(accessToken: string): Promise<boolean>;
  /** The link and its messages as they are now; undefined when it is not this field partner's. */
  link(key: OwnLinkKey): Promise<LinkSeen | undefined>;
}

export interface LinkSeen {
  readonly link: PaymentLink;
  readonly deliveries: readonly LinkDelivery[];
}

export function createLinkLooks(database: Database): LinkLooks {
  const looks = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;

  // What is asked for in one go is read in one go, and nothing is kept: the next look has to see what is new.
  const signedIn = new DataLoader<string, boolean>(
    async (tokens) => {
      const counting = await accessTokensThatCount(database.em(), tokens, new Date());
      return tokens.map((token) => counting.has(token));
    },
    { cache: false },
  );
  const link = new DataLoader<OwnLinkKey, LinkSeen | undefined>(
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
    everyTick(look) {
      const own = () => look();
      looks.add(own);
      timer ??= setInterval(() => looks.forEach((one) => one()), LOOK_EVERY_MS);
      return () => {
        looks.delete(own);
        if (looks.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    signedIn: (accessToken) => signedIn.load(accessToken),
    link: (key) => link.load(key),
  };
}
