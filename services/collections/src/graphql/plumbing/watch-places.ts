import { ClientError } from "./client-error.ts";

/** Whoever watches holds a connection and is looked after every few seconds: there is room for so many. */
export interface WatchPlaces {
  /**
   * Takes a place; the returned function gives it back. Whoever has all of theirs loses the oldest, whose `end` is called:
   * a phone that has lost its signal does not say so, and comes back. Throws ClientError RATE_LIMITED when all are taken.
   */
  take(fieldPartnerId: string, end: () => void): () => void;
}

/** More than a phone shows at a time, and what one process keeps alive with ease. */
export const WATCH_PLACES = { perFieldPartner: 20, inAll: 2_000 };

export function createWatchPlaces({ perFieldPartner, inAll } = WATCH_PLACES): WatchPlaces {
  /** Of each field partner what ends their streams, the oldest first. */
  const taken = new Map<string, Set<() => void>>();
  let all = 0;

  function giveBack(fieldPartnerId: string, end: () => void): void {
    const own = taken.get(fieldPartnerId);
    if (!own?.delete(end)) return;
    all -= 1;
    if (own.size === 0) taken.delete(fieldPartnerId);
  }

  return {
    take(fieldPartnerId, end) {
      const [oldest] = taken.get(fieldPartnerId) ?? [];
      if (oldest && taken.get(fieldPartnerId)!.size >= perFieldPartner) {
        giveBack(fieldPartnerId, oldest);
        oldest();
      }
      if (all >= inAll) throw full("Too many links are watched just now: ask for yours every few seconds instead.");
      // A function of its own: the same one may be given twice.
      const endThis = () => end();
      const own = taken.get(fieldPartnerId) ?? new Set();
      taken.set(fieldPartnerId, own.add(endThis));
      all += 1;
      return () => giveBack(fieldPartnerId, endThis);
    },
  };
}

function full(message: string): ClientError {
  return new ClientError("RATE_LIMITED", message);
}
