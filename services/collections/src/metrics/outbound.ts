import type { OwnFault, OwnFaultReason } from "@collections/outbound";
import type { Registry } from "prom-client";
import { addReadGauge } from "./read-gauge.ts";

/** Metrics of requests to other hosts. */
export interface OutboundMetrics {
  /** Sets the function that reads the faults of our own DNS and network. */
  watch(readFaults: () => readonly OwnFault[]): void;
}

const REASONS: readonly OwnFaultReason[] = ["OWN_DNS_FAILED", "OWN_NETWORK_FAILED"];

/** Registers the metrics of requests to other hosts. */
export function createOutboundMetrics(registry: Registry): OutboundMetrics {
  let read: () => readonly OwnFault[] = () => [];
  addReadGauge(registry, {
    name: "collections_own_fault_seconds",
    help: "Time for which requests have failed because of our own DNS or network.",
    labels: ["reason"],
    read: async () => REASONS.map((reason) => [{ reason }, longestMs(read(), reason) / 1_000]),
  });
  return {
    watch(readFaults) {
      read = readFaults;
    },
  };
}

function longestMs(faults: readonly OwnFault[], reason: OwnFaultReason): number {
  return Math.max(0, ...faults.filter((fault) => fault.reason === reason).map(({ lastingMs }) => lastingMs));
}
