import { ClientError } from "./client-error.ts";

/**
 * Limits the number of subscriptions. Each subscription occupies a connection. Its session, and the payment link that it
 * may watch, are read every few seconds.
 */
export interface SubscriptionSlots {
  /**
   * Takes a slot, and returns a function that frees the slot. If the field partner has no free slot, frees their oldest
   * slot and calls its `end`: a phone that lost its signal does not close its old subscription. Throws ClientError
   * RATE_LIMITED if the slots of all field partners together are taken.
   */
  take(fieldPartnerId: string, end: () => void): () => void;
}

/**
 * `perFieldPartner` is more than a phone needs: a subscription for each link that it shows, and one for the changes of its
 * cases. `inAll` is a number of connections that one process can easily serve.
 */
export const SUBSCRIPTION_SLOTS = { perFieldPartner: 20, inAll: 2_000 };

export function createSubscriptionSlots({ perFieldPartner, inAll } = SUBSCRIPTION_SLOTS): SubscriptionSlots {
  /** The `end` functions of each field partner's subscriptions, the oldest first. */
  const taken = new Map<string, Set<() => void>>();
  let all = 0;

  function free(fieldPartnerId: string, end: () => void): void {
    const own = taken.get(fieldPartnerId);
    if (!own?.delete(end)) return;
    all -= 1;
    if (own.size === 0) taken.delete(fieldPartnerId);
  }

  return {
    take(fieldPartnerId, end) {
      const [oldest] = taken.get(fieldPartnerId) ?? [];
      if (oldest && taken.get(fieldPartnerId)!.size >= perFieldPartner) {
        free(fieldPartnerId, oldest);
        oldest();
      }
      if (all >= inAll) throw full("Too many subscriptions are open at the moment: query every few seconds instead.");
      // Create a new function for each slot: two slots may get the same `end`, and a Set would store it only once.
      const endThis = () => end();
      const own = taken.get(fieldPartnerId) ?? new Set();
      taken.set(fieldPartnerId, own.add(endThis));
      all += 1;
      return () => free(fieldPartnerId, endThis);
    },
  };
}

function full(message: string): ClientError {
  return new ClientError("RATE_LIMITED", message);
}
