import type { EndpointState } from "./endpoint.ts";

/** Failed attempts in a row that suspend an endpoint. contract: Limits, suspension threshold */
const DEFAULT_SUSPEND_AFTER = 20;

/** The shortest time between the first of the failures that suspend an endpoint, and the suspension. */
const DEFAULT_MIN_DURATION_MS = 60_000;

/** The time between two pings of a suspended endpoint. contract: Limits, suspended-endpoint probe interval */
export const DEFAULT_PROBE_INTERVAL_MS = 900_000;

/** When an endpoint is suspended, and how often it is then pinged. contract: Retry and suspension */
export interface SuspensionRule {
  /** Failed attempts in a row, over all deliveries of the endpoint. */
  readonly suspendAfter: number;
  readonly probeIntervalMs: number;
  /**
   * An endpoint is not suspended earlier than this after the first of its failures in a row, so that a restart of the
   * receiver suspends nobody. Until then, attempts are paced. 0 turns pacing off. Default: one minute.
   */
  readonly minDurationMs?: number;
}

export const DEFAULT_SUSPENSION: SuspensionRule = {
  suspendAfter: DEFAULT_SUSPEND_AFTER,
  probeIntervalMs: DEFAULT_PROBE_INTERVAL_MS,
};

/** An endpoint after its attempts are counted: each attempt once, and faults of our own network not at all. */
export interface CountedEndpoint {
  readonly state: EndpointState;
  /** Failed attempts since the last 2xx. */
  readonly consecutiveFailures: number;
  /** When the first of these failures was recorded. */
  readonly failingSince: Date | null;
}

/**
 * The consequence of the count for the endpoint. `suspend`: with the time of the first probe. `recover`: an attempt that was
 * under way at the suspension was answered 2xx. `stay`: nothing changes. contract: Retry and suspension
 */
export type SuspensionVerdict =
  | { readonly verdict: "suspend"; readonly suspendedAt: Date; readonly nextProbeAt: Date }
  | { readonly verdict: "recover" }
  | { readonly verdict: "stay" };

/** The share of the failures that suspend an endpoint after which its attempts are paced: 5 of 20. */
const UNPACED_SHARE = 0.25;
/** The first waits of paced attempts, as a share of `minDurationMs`. */
const FIRST_WAIT_SHARE = 0.005;
/**
 * Later waits, as a share of the time that the endpoint has failed: the waits become longer and longer. With this share,
 * fifteen attempts take `minDurationMs`, and an endpoint that recovers waits at most half as long again.
 */
const WAIT_SHARE = 0.5;
/** A count of failures that no endpoint reaches. It is the largest `integer` of PostgreSQL. */
export const NEVER = 2_147_483_647;

/** Returns the number of failures in a row from which the attempts of an endpoint are paced. */
export function pacedFrom({ suspendAfter, minDurationMs = DEFAULT_MIN_DURATION_MS }: SuspensionRule): number {
  return minDurationMs === 0 ? NEVER : Math.max(1, Math.floor(suspendAfter * UNPACED_SHARE));
}

/**
 * Returns how long an active endpoint waits for its next attempt after a failure, in milliseconds, or undefined if its
 * attempts are not paced.
 */
export function paceMs(counted: CountedEndpoint, rule: SuspensionRule, now: Date): number | undefined {
  if (counted.state !== "active" || counted.consecutiveFailures < pacedFrom(rule)) return undefined;
  const duration = rule.minDurationMs ?? DEFAULT_MIN_DURATION_MS;
  const failing = failingMs(counted, now);
  const wait = Math.max(duration * FIRST_WAIT_SHARE, failing * WAIT_SHARE);
  return Math.round(Math.min(wait, Math.max(0, duration - failing)));
}

function failingMs({ failingSince }: CountedEndpoint, now: Date): number {
  return failingSince === null ? 0 : now.getTime() - failingSince.getTime();
}

/** Decides whether the endpoint is suspended, recovers, or stays as it is. */
export function judgeEndpoint(counted: CountedEndpoint, rule: SuspensionRule, now: Date): SuspensionVerdict {
  const { state, consecutiveFailures } = counted;
  const isLongEnough = failingMs(counted, now) >= (rule.minDurationMs ?? DEFAULT_MIN_DURATION_MS);
  if (state === "active" && consecutiveFailures >= rule.suspendAfter && isLongEnough) {
    return { verdict: "suspend", suspendedAt: now, nextProbeAt: new Date(now.getTime() + rule.probeIntervalMs) };
  }
  if (state === "suspended" && consecutiveFailures === 0) return { verdict: "recover" };
  return { verdict: "stay" };
}
