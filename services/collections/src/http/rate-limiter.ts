import { type EntityManager, isUnavailable } from "@collections/database";
import { type Admission, createRateLimiter as createSharedLimiter } from "@collections/rate-limits";
import type { Logger } from "pino";
import type { LimitName, RateLimits } from "../settings/rate-limits.ts";

export type { Admission } from "@collections/rate-limits";

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

export interface RateLimiterOptions {
  limits: RateLimits;
  /** A fresh EntityManager for each query. */
  em: () => EntityManager;
  log: Logger;
}

const WINDOW_MS = 60_000;
export const WINDOW_S = WINDOW_MS / 1_000;
const FAILURES = "failed-authentication";
/** Each of these has a lane of its own, so that a flood of forged requests does not delay right ones. */
const OWN_LANES: ReadonlySet<LimitName> = new Set([FAILURES, "refresh", "known-device", "app"]);

export function createRateLimiter({ limits, em, log }: RateLimiterOptions): RateLimiter {
  if (limits === "off") return { admit: () => Promise.resolve(undefined), close: () => Promise.resolve() };
  const onError = (error: unknown) => log.warn({ error }, "uses of limits not forgotten");
  const limiter = createSharedLimiter({ em, windowMs: WINDOW_MS, onError });
  return {
    admit: (limit, subject, quota = limits[limit]) =>
      limiter.admit({ subject, limit, quota, lane: OWN_LANES.has(limit) ? limit : "keys" }),
    close: () => limiter.close(),
  };
}

/** Counts a failed authentication of an address; the answer is what to refuse it with when there were too many. */
export async function tooManyFailures(rateLimiter: RateLimiter, address: string): Promise<Admission | undefined> {
  try {
    const admission = await rateLimiter.admit(FAILURES, address);
    return admission?.granted === false ? admission : undefined;
  } catch (error) {
    // Without a count the caller still gets the answer that says what was wrong.
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}
