import type { AttemptFacts, Backlog, EndpointReach, ProbeFacts } from "@collections/webhooks";
import { Counter, Histogram, type Registry } from "prom-client";
import { addReadGauge } from "./read-gauge.ts";

/** Functions that read the gauges during a scrape. Each returns undefined while its values cannot be read. */
export interface WebhookReadings {
  backlogs(): Promise<readonly Backlog[] | undefined>;
  /** Attempts in flight in this process, by lender code. */
  inFlight(): Promise<ReadonlyMap<string, number> | undefined>;
}

export interface WebhookMetrics {
  onAttempt(facts: AttemptFacts): void;
  onProbe(facts: ProbeFacts): void;
  /** Sets the functions that read the gauges. Called once, by a process that delivers events. */
  watch(readings: WebhookReadings): void;
}

const REACHES: readonly EndpointReach[] = ["active", "suspended", "unregistered"];
const STATES = ["waiting", "retrying", "parked"] as const satisfies (keyof Backlog)[];
const ATTEMPT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/**
 * Upper bounds of the buckets of a histogram, in seconds. With all its retries, a delivery can take 31 hours, and
 * longer if its endpoint is suspended.
 */
const DELIVERY_SECONDS = [...ATTEMPT_SECONDS, 30, 60, 300, 900, 3_600, 21_600, 86_400];

/**
 * Registers the metrics of webhooks. All labels have a fixed list of values, except `lender`, which has the lenders'
 * codes.
 */
export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const durations = new Histogram({
    name: "collections_webhook_attempt_duration_seconds",
    help: "Time of an attempt to deliver an event, by outcome.",
    labelNames: ["outcome"],
    buckets: ATTEMPT_SECONDS,
    registers,
  });
  const attempts = new Counter({
    name: "collections_webhook_attempts_total",
    help: "Attempts to deliver an event, by outcome and error code.",
    labelNames: ["outcome", "cause"],
    registers,
  });
  const latencies = new Histogram({
    name: "collections_webhook_delivery_latency_seconds",
    help: "Time from the commit of an event to its acknowledgement, with retries, without replays.",
    buckets: DELIVERY_SECONDS,
    registers,
  });
  const probes = new Counter({
    name: "collections_webhook_probes_total",
    help: "Pings to suspended endpoints, by outcome and error code.",
    labelNames: ["outcome", "cause"],
    registers,
  });
  return {
    onAttempt({ state, errorCode, ownFault, replay, durationMs, ageMs }) {
      durations.observe({ outcome: state }, durationMs / 1_000);
      attempts.inc({ outcome: state, cause: ownFault ? "OWN_NETWORK" : (errorCode ?? "NONE") });
      if (state === "delivered" && !replay) latencies.observe(Math.max(ageMs + durationMs, 0) / 1_000);
    },
    onProbe({ passed, error }) {
      probes.inc({ outcome: passed ? "passed" : "failed", cause: error?.code ?? "NONE" });
    },
    watch: (readings) => watch(registry, readings),
  };
}

type Values = readonly (readonly [label: string, value: number])[];

function watch(registry: Registry, { backlogs, inFlight }: WebhookReadings): void {
  /** Returns one value for each state of endpoints; 0 for a state that no endpoint has. */
  async function byReach(valueOf: (backlog: Backlog) => number | null): Promise<Values | undefined> {
    const found = await backlogs();
    return found && REACHES.map((reach) => [reach, sum(found.filter((one) => one.reach === reach).map(valueOf))]);
  }
  const add = (name: string, help: string, label: string, readValues: () => Promise<Values | undefined>) =>
    addReadGauge(registry, {
      name: `collections_webhook_${name}`,
      help,
      labels: [label],
      read: async () => (await readValues())?.map(([of, value]) => [{ [label]: of }, value]),
    });

  add("backlog", "Events that are not delivered, by state.", "state", async () => {
    const found = await backlogs();
    return found && STATES.map((state) => [state, sum(found.map((backlog) => backlog[state]))]);
  });
  add("endpoints", "Lenders, by the state of their endpoint.", "state", () => byReach(({ endpoints }) => endpoints));
  add(
    "oldest_waiting_seconds",
    "Age of the oldest event that waits for its first attempt, by the state of its endpoint.",
    "endpoint",
    () => byReach(({ oldestWaitingMs }) => (oldestWaitingMs ?? 0) / 1_000),
  );
  add("in_flight", "Attempts in progress in this process, by lender.", "lender", async () => {
    const found = await inFlight();
    return found && [...found];
  });
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}
