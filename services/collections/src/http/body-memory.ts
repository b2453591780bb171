import { Problem } from "./problem.ts";

/** Bytes that the bodies of requests may take together while nothing proves who sends them. */
export interface BodyMemoryLimits {
  readonly totalBytes: number;
  /** Of one address. Less than the total, so that one address cannot refuse all others. */
  readonly addressBytes: number;
}

/** Counts the memory of bodies whose sender is not known yet, over all connections and by address. */
export interface BodyMemory {
  /** Opens an account for one request. `release` it in any case. */
  hold(address: string): HeldBody;
  /** Bytes that all requests hold now. */
  readonly heldBytes: number;
}

/** The memory of one request's body. */
export interface HeldBody {
  /**
   * Raises what the request holds to `bytes`.
   * @throws Problem RATE_LIMITED where its address holds too much, SERVICE_UNAVAILABLE where all together do
   */
  grow(bytes: number): void;
  /** Called when the request has to give up its memory to another address. */
  onEvicted: (problem: Problem) => void;
  release(): void;
}

/** Six imports of 5 MiB at once from one address, and twice as many in all. */
export const BODY_MEMORY_LIMITS: BodyMemoryLimits = {
  totalBytes: 64 * 1_024 * 1_024,
  addressBytes: 32 * 1_024 * 1_024,
};

/** What the requests of one address hold, the oldest first. */
interface Share {
  bytes: number;
  readonly requests: Set<Request>;
}

interface Request extends HeldBody {
  bytes: number;
}

/** Makes the count of a process. It is empty at first. */
export function createBodyMemory({ totalBytes, addressBytes }: BodyMemoryLimits = BODY_MEMORY_LIMITS): BodyMemory {
  const shares = new Map<string, Share>();
  let heldBytes = 0;

  /** An address that holds more than the asking one gives up its oldest request, which is likely the slowest. */
  function makeRoom(bytes: number, asking: Share): void {
    while (heldBytes + bytes > totalBytes) {
      const largest = [...shares.values()].reduce((one, other) => (other.bytes > one.bytes ? other : one));
      if (largest.bytes <= asking.bytes + bytes) throw noRoom();
      const [oldest] = largest.requests;
      oldest!.release();
      oldest!.onEvicted(noRoom());
    }
  }

  return {
    get heldBytes() {
      return heldBytes;
    },
    hold(address) {
      let share: Share | undefined;
      const request: Request = {
        bytes: 0,
        onEvicted: () => {},
        grow(bytes) {
          const more = bytes - request.bytes;
          if (more <= 0) return;
          share = shares.get(address) ?? { bytes: 0, requests: new Set() };
          if (share.bytes + more > addressBytes) throw tooMuchOf(addressBytes);
          if (heldBytes + more > totalBytes) makeRoom(more, share);
          shares.set(address, share);
          share.requests.add(request);
          share.bytes += more;
          heldBytes += more;
          request.bytes = bytes;
        },
        release() {
          if (!share || !share.requests.delete(request)) return;
          share.bytes -= request.bytes;
          heldBytes -= request.bytes;
          request.bytes = 0;
          if (share.requests.size === 0) shares.delete(address);
        },
      };
      return request;
    },
  };
}

function noRoom(): Problem {
  return new Problem(
    "SERVICE_UNAVAILABLE",
    "Too many bodies arrive at the same time; send the same bytes again in a moment.",
  );
}

function tooMuchOf(addressBytes: number): Problem {
  const mebibytes = addressBytes / 1_024 / 1_024;
  return new Problem(
    "RATE_LIMITED",
    `Bodies from this address take more than ${mebibytes} MiB at the same time; send fewer large requests at once.`,
  );
}
