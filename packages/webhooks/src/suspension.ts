import type { EndpointState } from "./endpoint.ts";

/** contract: Limits, suspension threshold */
export const DEFAULT_SUSPEND_AFTER = 20;
/** contract: Limits, suspended-endpoint probe interval */
export const DEFAULT_PROBE_INTERVAL_MS = 900_000;

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
