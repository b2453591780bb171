import { type EntityManager, isUnavailable } from "@collections/database";
import { forgetPermits, takePermits } from "@collections/lenders";
import type { Logger } from "pino";
import type { LimitName, RateLimits } from "./limits.ts";
import { createPermits } from "./permits.ts";
import type { Leave } from "./window.ts";

/** How often something may be done (contract: Limits), over all processes together. */
export interface RateLimiter {
  /**
   * Takes one use from a subject's limit; undefined where limits are off. `quota` is the subject's own, if it has one.
   * Throws what the database throws while it is away.
   */
  admit(limit: LimitName, subject: string, quota?: number): Promise<Admission | undefined>;
  /** Gives back what this process holds. */
  close(): Promise<void>;
}

/** Whether one use is in its limit, and how that limit stands. */
export interface Admission extends Leave {
  /** Uses in a minute. */
  readonly quota: number;
  /** Whole seconds, at least 1, until the oldest use stops counting. */
  readonly waitS: number;
}

export interface RateLimiterOptions {
  limits: RateLimits;
  /** A fresh EntityManager for each question. */
  em: () => EntityManager;
  log: Logger;
}

const WINDOW_MS = 60_000;
export const WINDOW_S = WINDOW_MS / 1_000;
/** Permits ahead of need count until a window after this: 2 s keeps that near to when they are used. */
const AHEAD_MS = 2_000;
const RULES = { windowMs: WINDOW_MS, aheadMs: AHEAD_MS, timeoutMs: 2_000 };
const FAILURES = "failed-authentication";

export function createRateLimiter({ limits, em, log }: RateLimiterOptions): RateLimiter {
  if (limits === "off") return { admit: () => Promise.resolve(undefined), close: () => Promise.resolve() };
  const take = (asks: Parameters<typeof takePermits>[1]) => takePermits(em(), asks, RULES);
  const ofKeys = createPermits({ take, aheadMs: AHEAD_MS });
  const ofFieldPartners = createPermits({ take, aheadMs: AHEAD_MS });
  // Apart, so that a flood of forged requests is not in the way of right ones.
  const ofFailures = createPermits({ take, aheadMs: AHEAD_MS });
  const ofRefreshes = createPermits({ take, aheadMs: AHEAD_MS });
  const ofKnownDevices = createPermits({ take, aheadMs: AHEAD_MS });
  const permitsOf = (limit: LimitName) => {
    if (limit === FAILURES) return ofFailures;
    if (limit === "refresh") return ofRefreshes;
    if (limit === "known-device") return ofKnownDevices;
    return limit === "app" ? ofFieldPartners : ofKeys;
  };
  const forgetting = setInterval(() => {
    forgetPermits(em(), WINDOW_MS).catch((error: unknown) => log.warn({ error }, "uses of limits not forgotten"));
  }, WINDOW_MS).unref();

  return {
    async admit(limit, subject, quota = limits[limit]) {
      const leave = await permitsOf(limit).take(subject, limit, quota);
      return { ...leave, quota, waitS: Math.max(1, Math.ceil(leave.freesInMs / 1_000)) };
    },
    async close() {
      clearInterval(forgetting);
      const all = [ofKeys, ofFieldPartners, ofFailures, ofRefreshes, ofKnownDevices];
      await Promise.all(all.map((permits) => permits.close()));
    },
  };
}

/** Counts a failed authentication of an address; the answer is what to refuse it with when there were too many. */
export async function tooManyFailures(rateLimiter: RateLimiter, address: string): Promise<Admission | undefined> {
  try {
    const admission = await rateLimiter.admit(FAILURES, address);
    return admission?.granted === false ? admission : undefined;
  } catch (error) {
    // Who cannot be counted is told what was wrong all the same.
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}
