import { ClientError } from "./client-error.ts";

/** Whoever watches holds a connection and is looked after every few seconds: there is room for so many. */
export interface WatchPlaces {
  /** Takes a place; the returned function gives it back. Throws ClientError RATE_LIMITED when there is none. */
  take(fieldPartnerId: string): () => void;
}

/** More than a phone shows at a time, and what one process keeps alive with ease. */
export const WATCH_PLACES = { perFieldPartner: 20, inAll: 2_000 };

export function createWatchPlaces({ perFieldPartner, inAll } = WATCH_PLACES): WatchPlaces {
  const taken = new Map<string, number>();
  let all = 0;

  function giveBack(fieldPartnerId: string): void {
    all -= 1;
    const left = (taken.get(fieldPartnerId) ?? 0) - 1;
    if (left > 0) taken.set(fieldPartnerId, left);
    else taken.delete(fieldPartnerId);
  }

  return {
    take(fieldPartnerId) {
      const own = taken.get(fieldPartnerId) ?? 0;
      if (own >= perFieldPartner) {
        throw full(`You watch ${own} links already, the most that there may be: end a subscription, or ask again.`);
      }
      if (all >= inAll) throw full("Too many links are watched just now: ask for yours every few seconds instead.");
      taken.set(fieldPartnerId, own + 1);
      all += 1;
      let held = true;
      return () => {
        if (held) giveBack(fieldPartnerId);
        held = false;
      };
    },
  };
}

function full(message: string): ClientError {
  return new ClientError("RATE_LIMITED", message);
}
