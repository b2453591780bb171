import { ClientError } from "./client-error.ts";

/** Limits subscriptions: each one occupies a connection and is read every few seconds. */
export interface SubscriptionSlots {
  /**
   * Takes a slot; the returned function frees it. If the field partner has no free slot, the oldest one is freed and
   * its `end` is called, because a phone that lost its signal does not close its old subscription. Throws ClientError
   * RATE_LIMITED if the slots of all field partners together are taken.
   */
  take(fieldPartnerId: string, end: () => void): () => void;
}

/**
 * `perFieldPartner` is more than a phone shows at a time. `inAll` is a number of connections that one process serves
 * easily.
 */
export const SUBSCRIPTION_SLOTS = { perFieldPartner: 20, inAll: 2_000 };

export function createSubscriptionSlots({ perFieldPartner, inAll } = SUBSCRIPTION_SLOTS): SubscriptionSlots {
  /** The `end` functions of each field partner, the oldest first. */
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
      if (all >= inAll)
        throw full("Too many links are watched at the moment: query your link every few seconds instead.");
      // Wrapped in a new function for each slot, because two slots may get the same `end`.
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
