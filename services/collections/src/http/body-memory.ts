import { Problem } from "./problem.ts";

/** The maximum number of bytes that bodies may take before their senders are authenticated. */
export interface BodyMemoryLimits {
  readonly totalBytes: number;
  /** The maximum for one address. It is less than the total, so that one address cannot use all of the memory. */
  readonly addressBytes: number;
}

/** Counts the memory of bodies whose senders are not authenticated yet, over all connections and by address. */
export interface BodyMemory {
  /** Starts counting the body of one request. The caller must call `release` at the end, even after an error. */
  hold(address: string): HeldBody;
  /** Bytes that all requests hold now. */
  readonly heldBytes: number;
}

/** The memory of one request's body. */
export interface HeldBody {
  /**
   * Raises the memory that the request holds to `bytes`.
   * @throws Problem RATE_LIMITED if its address holds too much, SERVICE_UNAVAILABLE if all addresses together do
   */
  grow(bytes: number): void;
  /** Called when the memory of the request is given to another address. */
  onEvicted: (problem: Problem) => void;
  release(): void;
}

/** The default limits: enough for six imports of 5 MiB at once from one address, and for twelve from all addresses. */
export const BODY_MEMORY_LIMITS: BodyMemoryLimits = {
  totalBytes: 64 * 1_024 * 1_024,
  addressBytes: 32 * 1_024 * 1_024,
};

/** The memory of one address, and its requests, the oldest first. */
interface Share {
  bytes: number;
  readonly requests: Set<Request>;
}

interface Request extends HeldBody {
  bytes: number;
}

/** Creates the memory count of one process, in which no body is counted yet. */
export function createBodyMemory({ totalBytes, addressBytes }: BodyMemoryLimits = BODY_MEMORY_LIMITS): BodyMemory {
  const shares = new Map<string, Share>();
  let heldBytes = 0;

  /**
   * Frees `bytes` by evicting requests of the address that holds the most memory. The oldest of these requests, likely
   * the slowest, is evicted first. Throws SERVICE_UNAVAILABLE if the address that needs the memory would then hold at
   * least as much as the address with the most memory.
   */
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
