import type { EntityManager } from "@collections/database";
import { forgetPermits, type PermitAsk, takePermits } from "./permit.ts";
import { createPermits, type Permits } from "./permits.ts";
import type { Leave } from "./window.ts";

/** How often something may be done, over all processes together. */
export interface RateLimiter {
  /** Takes one use from a subject's limit. Throws what the database throws while it is away. */
  admit(use: Use): Promise<Admission>;
  /** Gives back what this process holds. */
  close(): Promise<void>;
}

/** One use of one subject's limit. */
export interface Use {
  /** Who is limited: an API key, an address, a person. */
  readonly subject: string;
  readonly limit: string;
  /** Uses of this limit that the subject may have in any window. */
  readonly quota: number;
  /** Uses of one lane wait for one query together. A flood in one lane does not slow down another. */
  readonly lane: string;
}

/** Whether one use is in its limit, and how that limit stands. */
export interface Admission extends Leave {
  /** Uses in a window. */
  readonly quota: number;
  /** Whole seconds, at least 1, until the oldest use stops counting. */
  readonly waitS: number;
}

/** How a rate limiter counts. */
export interface RateLimiterOptions {
  /** A fresh EntityManager for each query. */
  readonly em: () => EntityManager;
  /** Uses are counted in any span of this length. */
  readonly windowMs: number;
  /** Called when old uses could not be deleted. */
  readonly onError: (error: unknown) => void;
}

/** Permits ahead of need count until a window after this: 2 s keeps that near to when they are used. */
const AHEAD_MS = 2_000;
const TIMEOUT_MS = 2_000;

/**
 * A rate limiter whose limits hold for all processes on one database. Make one per process.
 *
 * @example
 * const limiter = createRateLimiter({ em: () => database.em(), windowMs: 60_000, onError: console.warn });
 * const { granted, waitS } = await limiter.admit({ subject: keyId, limit: "import", quota: 60, lane: "keys" });
 * if (!granted) throw new Error(`Try again in ${waitS} s.`);
 */
export function createRateLimiter({ em, windowMs, onError }: RateLimiterOptions): RateLimiter {
  const rules = { windowMs, aheadMs: AHEAD_MS, timeoutMs: TIMEOUT_MS };
  const take = (asks: PermitAsk[]) => takePermits(em(), asks, rules);
  const lanes = new Map<string, Permits>();
  const forgetting = setInterval(() => void forgetPermits(em(), windowMs).catch(onError), windowMs).unref();

  function permitsOf(lane: string): Permits {
    const permits = lanes.get(lane) ?? createPermits({ take, aheadMs: AHEAD_MS });
    lanes.set(lane, permits);
    return permits;
  }

  return {
    async admit({ subject, limit, quota, lane }) {
      const leave = await permitsOf(lane).take(subject, limit, quota);
      return { ...leave, quota, waitS: Math.max(1, Math.ceil(leave.freesInMs / 1_000)) };
    },
    async close() {
      clearInterval(forgetting);
      await Promise.all([...lanes.values()].map((permits) => permits.close()));
    },
  };
}
