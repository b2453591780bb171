import type { EndpointState } from "./endpoint.ts";

/**
 * Failed attempts in a row that suspend an endpoint. contract: Limits, suspension threshold
 *
 * @example
 * const rule: SuspensionRule = { suspendAfter: DEFAULT_SUSPEND_AFTER, probeIntervalMs: 60_000 };
 */
export const DEFAULT_SUSPEND_AFTER = 20;

/**
 * The time between two pings of a suspended endpoint. contract: Limits, suspended-endpoint probe interval
 *
 * @example
 * const rule: SuspensionRule = { suspendAfter: 50, probeIntervalMs: DEFAULT_PROBE_INTERVAL_MS };
 */
export const DEFAULT_PROBE_INTERVAL_MS = 900_000;

/** When an endpoint is suspended, and how often it is pinged then. contract: Retry and suspension */
export interface SuspensionRule {
  /** Failed attempts in a row, over all deliveries of the endpoint. */
  readonly suspendAfter: number;
  readonly probeIntervalMs: number;
}

export const DEFAULT_SUSPENSION: SuspensionRule = {
  suspendAfter: DEFAULT_SUSPEND_AFTER,
  probeIntervalMs: DEFAULT_PROBE_INTERVAL_MS,
};

/** An endpoint's row once its attempts are counted: each attempt once, faults of our own side not at all. */
export interface CountedEndpoint {
  readonly state: EndpointState;
  /** Since the last 2xx. */
  readonly consecutiveFailures: number;
}

/**
 * What the count means for the endpoint: `suspend`, with the time of its first probe; `recover`, because a 2xx that
 * was under way when it was suspended says that it is well; or `stay`. contract: Retry and suspension
 */
export type SuspensionVerdict =
  | { readonly verdict: "suspend"; readonly suspendedAt: Date; readonly nextProbeAt: Date }
  | { readonly verdict: "recover" }
  | { readonly verdict: "stay" };

export function judgeEndpoint(counted: CountedEndpoint, rule: SuspensionRule, now: Date): SuspensionVerdict {
  const { state, consecutiveFailures } = counted;
  if (state === "active" && consecutiveFailures >= rule.suspendAfter) {
    return { verdict: "suspend", suspendedAt: now, nextProbeAt: new Date(now.getTime() + rule.probeIntervalMs) };
  }
  if (state === "suspended" && consecutiveFailures === 0) return { verdict: "recover" };
  return { verdict: "stay" };
}
