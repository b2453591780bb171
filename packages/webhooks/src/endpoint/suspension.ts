import type { EndpointState } from "./endpoint.ts";

/** Failed attempts in a row that suspend an endpoint. contract: Limits, suspension threshold */
const DEFAULT_SUSPEND_AFTER = 20;

/** The time between two pings of a suspended endpoint. contract: Limits, suspended-endpoint probe interval */
export const DEFAULT_PROBE_INTERVAL_MS = 900_000;

/** When an endpoint is suspended, and how often it is then pinged. contract: Retry and suspension */
export interface SuspensionRule {
  /** Failed attempts in a row, over all deliveries of the endpoint. */
  readonly suspendAfter: number;
  readonly probeIntervalMs: number;
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
}

/**
 * The consequence of the count for the endpoint. `suspend`: with the time of the first probe. `recover`: an attempt that was
 * under way at the suspension was answered 2xx. `stay`: nothing changes. contract: Retry and suspension
 */
export type SuspensionVerdict =
  | { readonly verdict: "suspend"; readonly suspendedAt: Date; readonly nextProbeAt: Date }
  | { readonly verdict: "recover" }
  | { readonly verdict: "stay" };

/** Decides whether the endpoint is suspended, recovers, or stays as it is. */
export function judgeEndpoint(counted: CountedEndpoint, rule: SuspensionRule, now: Date): SuspensionVerdict {
  const { state, consecutiveFailures } = counted;
  if (state === "active" && consecutiveFailures >= rule.suspendAfter) {
    return { verdict: "suspend", suspendedAt: now, nextProbeAt: new Date(now.getTime() + rule.probeIntervalMs) };
  }
  if (state === "suspended" && consecutiveFailures === 0) return { verdict: "recover" };
  return { verdict: "stay" };
}
