import type { EntityManager } from "@collections/entities";
import { forgetPermits, type PermitRequest, takePermits } from "./permit.ts";
import { createPermits, type Permits } from "./permits.ts";
import type { PermitResult } from "./window.ts";

/** Limits how often a subject, such as an API key, may do something. The uses in all processes count together. */
export interface RateLimiter {
  /**
   * Counts one use if it is within the subject's limit. Throws the database's error while the database is unavailable.
   */
  admit(use: Use): Promise<Admission>;
  /** Gives back the prefetched permits of this process. */
  close(): Promise<void>;
}

/** One use of one subject's limit. */
export interface Use {
  /** Who is limited: an API key, an address, a person. */
  readonly subject: string;
  readonly limit: string;
  /** The maximum number of uses of this limit by the subject in any window. */
  readonly quota: number;
  /**
   * The name of a group of uses that share queries. Each lane has its own queries, so that many uses in one lane do not
   * slow down another lane.
   */
  readonly lane: string;
}

/** Whether one use is within its limit, and the state of the limit. */
export interface Admission extends PermitResult {
  /** The maximum number of uses in a window. */
  readonly quota: number;
  /** Whole seconds, at least 1, until the oldest use stops counting. */
  readonly waitS: number;
}

/** How a rate limiter counts. */
export interface RateLimiterOptions {
  /** Makes a new EntityManager for each query. */
  readonly em: () => EntityManager;
  /** The length of the window in which uses are counted. */
  readonly windowMs: number;
  /** Called when old uses could not be deleted. */
  readonly onError: (error: unknown) => void;
}

/**
 * How long prefetched permits may be used. They count as used at the end of this time, even if they are used earlier.
 */
const AHEAD_MS = 2_000;
const TIMEOUT_MS = 2_000;

/**
 * Creates a rate limiter. Its limits apply across all processes that use the same database. Create one in each process.
 *
 * @example
 * const limiter = createRateLimiter({ em: () => database.em(), windowMs: 60_000, onError: console.warn });
 * const { granted, waitS } = await limiter.admit({ subject: keyId, limit: "import", quota: 60, lane: "keys" });
 * if (!granted) throw new Error(`Try again in ${waitS} s.`);
 */
export function createRateLimiter({ em, windowMs, onError }: RateLimiterOptions): RateLimiter {
  const rules = { windowMs, aheadMs: AHEAD_MS, timeoutMs: TIMEOUT_MS };
  const take = (requests: PermitRequest[]) => takePermits(em(), requests, rules);
  const lanes = new Map<string, Permits>();
  const forgetting = setInterval(() => void forgetPermits(em(), windowMs).catch(onError), windowMs).unref();

  function permitsOf(lane: string): Permits {
    const permits = lanes.get(lane) ?? createPermits({ take, aheadMs: AHEAD_MS });
    lanes.set(lane, permits);
    return permits;
  }

  return {
    async admit({ subject, limit, quota, lane }) {
      const result = await permitsOf(lane).take(subject, limit, quota);
      return { ...result, quota, waitS: Math.max(1, Math.ceil(result.freesInMs / 1_000)) };
    },
    async close() {
      clearInterval(forgetting);
      await Promise.all([...lanes.values()].map((permits) => permits.close()));
    },
  };
}
