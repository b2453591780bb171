import type { LoggedRequest } from "./schema.ts";

/** An answered request that names an API key. */
export type AnsweredRequest = Omit<LoggedRequest, "lenderId"> & {
  /** The lender of a request whose signature was right; undefined for a request that only names a key. */
  readonly lenderId: string | undefined;
};

/** The requests that this process has answered and not written yet. */
export interface RequestLog {
  /** Adds a request. It only writes to memory. A request beyond the limits is left out. */
  note(request: AnsweredRequest): void;
  /** Returns the requests since the last call, and how many were left out, and forgets them. */
  take(): { readonly requests: readonly AnsweredRequest[]; readonly leftOut: number };
  /** The first uses of endpoints that this process has written, as `<lender> <endpoint>`. */
  readonly firstUses: Set<string>;
}

/** The most requests that wait for being written, about 400 bytes each. */
const MOST_WAITING = 5_000;
/** The most requests of one key with a right signature, for successful and for failed requests, between two calls of `take`. */
const MOST_OF_KEY = 100;
/** The most requests of one key without a right signature in a minute. A stranger who knows the id of a key can send them. */
const MOST_UNSIGNED_A_MINUTE = 60;
/** The most of them between two calls of `take`, so that strangers leave room for signed requests. */
const MOST_UNSIGNED_WAITING = 500;
/** The most keys whose unsigned requests are counted. Strangers can make up ids of keys. */
const MOST_KEYS = 1_000;
const MINUTE_MS = 60_000;
const MOST_PATH = 300;
const MOST_KEY_ID = 100;

/**
 * Creates an empty log. Its memory is bounded, whatever is sent.
 *
 * @example
 * const ofThisProcess = createRequestLog();
 * ofThisProcess.note(request);
 */
export function createRequestLog(): RequestLog {
  let waiting: AnsweredRequest[] = [];
  let leftOut = 0;
  let unsignedWaiting = 0;
  const ofKey = new Map<string, number>();
  const unsigned = new Map<string, number>();
  let minute = 0;

  function isWithinLimits({ keyId, lenderId, status, receivedAt }: AnsweredRequest): boolean {
    if (waiting.length >= MOST_WAITING || keyId.length > MOST_KEY_ID) return false;
    if (lenderId !== undefined) return counted(ofKey, `${keyId} ${status >= 400}`, MOST_OF_KEY);
    const now = Math.floor(receivedAt.getTime() / MINUTE_MS);
    if (now !== minute) unsigned.clear();
    minute = now;
    if (unsignedWaiting >= MOST_UNSIGNED_WAITING || (!unsigned.has(keyId) && unsigned.size >= MOST_KEYS)) return false;
    const isWithin = counted(unsigned, keyId, MOST_UNSIGNED_A_MINUTE);
    if (isWithin) unsignedWaiting += 1;
    return isWithin;
  }

  return {
    firstUses: new Set(),
    note(request) {
      if (!isWithinLimits(request)) leftOut += 1;
      else waiting.push({ ...request, path: request.path.slice(0, MOST_PATH) });
    },
    take() {
      const taken = { requests: waiting, leftOut };
      waiting = [];
      leftOut = 0;
      unsignedWaiting = 0;
      ofKey.clear();
      return taken;
    },
  };
}

/** Counts one more for a key. Returns false if the key has `most` already. */
function counted(counts: Map<string, number>, key: string, most: number): boolean {
  const count = counts.get(key) ?? 0;
  if (count >= most) return false;
  counts.set(key, count + 1);
  return true;
}
