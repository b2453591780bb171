import { type EntityManager, isUnavailable } from "@collections/database";
import { forgetPermits, type LenderProfile, takePermits } from "@collections/lenders";
import type { Logger } from "pino";
import type { LimitedEndpoint, RateLimits } from "../config.ts";
import { createPermits } from "./rate-limit-permits.ts";
import type { Leave } from "./rate-limit-window.ts";
import { Problem } from "./problem.ts";

/** How many requests a caller may make (contract: Limits), over all processes together. */
export interface RateLimiter {
  /**
   * Takes one request of a key from its limit and answers with the headers that say what is left; none where limits are
   * off. @throws Problem RATE_LIMITED
   */
  admit(caller: Caller, endpoint: LimitedEndpoint): Promise<Record<string, string>>;
  /** Counts a failed authentication of an address. @throws Problem RATE_LIMITED when there were too many */
  countFailure(address: string): Promise<void>;
  /** Gives back what this process holds. */
  close(): Promise<void>;
}

/** Who is limited: a key, by its lender's overrides where there are any. */
export interface Caller {
  readonly keyId: string;
  readonly lender: Pick<LenderProfile, "rateLimits">;
}

export interface RateLimiterOptions {
  limits: RateLimits;
  /** A fresh EntityManager for each question. */
  em: () => EntityManager;
  log: Logger;
}

const WINDOW_MS = 60_000;
const WINDOW_S = WINDOW_MS / 1_000;
/** Permits ahead of need count until a window after this: 2 s keeps that near to when they are used. */
const AHEAD_MS = 2_000;
const RULES = { windowMs: WINDOW_MS, aheadMs: AHEAD_MS, timeoutMs: 2_000 };
const FAILURES = "failed-authentication";

export function createRateLimiter({ limits, em, log }: RateLimiterOptions): RateLimiter {
  if (limits === "off") {
    return { admit: () => Promise.resolve({}), countFailure: () => Promise.resolve(), close: () => Promise.resolve() };
  }
  const ask = (asks: Parameters<typeof takePermits>[1]) => takePermits(em(), asks, RULES);
  const permits = createPermits({ take: ask, aheadMs: AHEAD_MS });
  // Apart, so that a flood of forged requests is not in the way of right ones.
  const failures = createPermits({ take: ask, aheadMs: AHEAD_MS });
  const forgetting = setInterval(() => {
    forgetPermits(em(), WINDOW_MS).catch((error: unknown) => log.warn({ error }, "uses of limits not forgotten"));
  }, WINDOW_MS).unref();

  return {
    async admit({ keyId, lender }, endpoint) {
      const quota = lender.rateLimits[endpoint] ?? limits[endpoint];
      const leave = await permits.take(keyId, endpoint, quota);
      const headers = {
        "RateLimit-Policy": `"${endpoint}";q=${quota};w=${WINDOW_S}`,
        RateLimit: `"${endpoint}";r=${leave.remaining};t=${secondsOf(leave)}`,
      };
      if (leave.granted) return headers;
      const detail = `This key may send ${quota} requests a minute here; go on in ${secondsOf(leave)} s.`;
      throw new Problem("RATE_LIMITED", detail, {}, { ...retryAfter(leave), ...headers });
    },
    async countFailure(address) {
      const quota = limits[FAILURES];
      const leave = await failures.take(address, FAILURES, quota).catch((error: unknown) => {
        // Who cannot be counted is told what was wrong all the same.
        if (isUnavailable(error)) return undefined;
        throw error;
      });
      if (!leave || leave.granted) return;
      const detail = `More than ${quota} requests a minute from this address had no right signature; right ones still pass.`;
      throw new Problem("RATE_LIMITED", detail, {}, retryAfter(leave));
    },
    async close() {
      clearInterval(forgetting);
      await Promise.all([permits.close(), failures.close()]);
    },
  };
}

function retryAfter(leave: Leave): Record<string, string> {
  return { "Retry-After": String(secondsOf(leave)) };
}

function secondsOf({ freesInMs }: Leave): number {
  return Math.max(1, Math.ceil(freesInMs / 1_000));
}
