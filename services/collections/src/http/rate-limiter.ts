import { isUnavailable } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type Admission, createRateLimiter as createSharedLimiter } from "@collections/rate-limits";
import type { Logger } from "pino";
import type { LimitName, RateLimits } from "../settings/rate-limits.ts";

export type { Admission } from "@collections/rate-limits";

/** Limits how often a subject may do something (contract: Limits), counted over all processes. */
export interface RateLimiter {
  /**
   * Takes one use from a subject's limit. `quota` replaces the configured limit. Resolves with undefined if limits are
   * off. Rejects with the database's error while the database is unavailable.
   */
  admit(limit: LimitName, subject: string, quota?: number): Promise<Admission | undefined>;
  /** Gives back the permits that this process has taken in advance. */
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
/**
 * Limits that are counted apart from those of signed requests, so that a flood of forged requests does not delay signed
 * requests.
 */
const OWN_LANES: ReadonlySet<LimitName> = new Set([FAILURES, "refresh", "known-device", "app"]);

export function createRateLimiter({ limits, em, log }: RateLimiterOptions): RateLimiter {
  if (limits === "off") return { admit: () => Promise.resolve(undefined), close: () => Promise.resolve() };
  const onError = (error: unknown) => log.warn({ error }, "old uses of rate limits could not be deleted");
  const limiter = createSharedLimiter({ em, windowMs: WINDOW_MS, onError });
  return {
    admit: (limit, subject, quota = limits[limit]) =>
      limiter.admit({ subject, limit, quota, lane: OWN_LANES.has(limit) ? limit : "keys" }),
    close: () => limiter.close(),
  };
}

/**
 * Counts a failed authentication of an address. Returns the limiter's refusal if the address has too many failures;
 * undefined otherwise.
 */
export async function tooManyFailures(rateLimiter: RateLimiter, address: string): Promise<Admission | undefined> {
  try {
    const admission = await rateLimiter.admit(FAILURES, address);
    return admission?.granted === false ? admission : undefined;
  } catch (error) {
    // While the database is unavailable, the failure is not counted. The caller still gets the answer that says what was
    // wrong.
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}
