import { collectDefaultMetrics, Counter, Histogram, Registry } from "prom-client";
import type { RefusedBy } from "../http/connection-limit.ts";
import { createJobMetrics, type JobMetrics } from "./jobs.ts";
import { createLedgerMetrics, type LedgerMetrics } from "./ledger.ts";
import { createOutboundMetrics, type OutboundMetrics } from "./outbound.ts";
import { createTodayMetrics, type TodayMetrics } from "./today.ts";
import { createWebhookMetrics, type WebhookMetrics } from "./webhook.ts";

/** The metrics of this process, for Prometheus. */
export interface Metrics {
  readonly registry: Registry;
  onAnswer(answered: { endpoint: string; status: number; durationMs: number }): void;
  onBatch(items: number): void;
  /** Counts a connection that was refused by a limit of `MAX_CONNECTIONS`. */
  onRefusedConnection(limit: RefusedBy): void;
  /** Counts a step of a sign-in by its outcome. Many wrong codes mean that somebody guesses. */
  onSignIn(step: "ask" | "verify" | "refresh", outcome: string): void;
  /** Counts a request for a payment link: `minted`, or the reason why the link is unavailable. */
  onMint(outcome: string): void;
  readonly webhooks: WebhookMetrics;
  readonly ledger: LedgerMetrics;
  readonly today: TodayMetrics;
  readonly jobs: JobMetrics;
  readonly outbound: OutboundMetrics;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

let ofProcess: Registry | undefined;

/**
 * Returns the metrics of Node itself. All apps of a process share them: to collect them, prom-client starts a timer and an
 * observer of garbage collections, and stops neither when an app closes.
 */
function metricsOfProcess(): Registry {
  if (ofProcess) return ofProcess;
  ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  return ofProcess;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const ofNode = metricsOfProcess();
  for (const { name } of ofNode.getMetricsAsArray()) registry.registerMetric(ofNode.getSingleMetric(name)!);
  const registers = [registry];
  const answers = new Histogram({
    name: "collections_http_request_duration_seconds",
    help: "Time from a request's arrival to its answer, by endpoint and status.",
    labelNames: ["endpoint", "status"],
    buckets: SECONDS,
    registers,
  });
  const batches = new Counter({
    name: "collections_confirmation_batches_total",
    help: "Batches of confirmations that were booked.",
    registers,
  });
  const confirmations = new Counter({
    name: "collections_confirmations_total",
    help: "Confirmations that were answered, with any outcome.",
    registers,
  });
  const refusedConnections = new Counter({
    name: "collections_refused_connections_total",
    help: "Connections that were closed at once, by limit: of all connections, or of one address.",
    labelNames: ["limit"],
    registers,
  });
  // Prometheus computes no increase from the first value of a series. Without this, it would miss the first refusals.
  for (const limit of ["all", "address"] satisfies RefusedBy[]) refusedConnections.inc({ limit }, 0);
  const signIns = new Counter({
    name: "collections_sign_in_total",
    help: "The app's requests for codes, attempts to enter a code, and token renewals, by outcome.",
    labelNames: ["step", "outcome"],
    registers,
  });
  const mints = new Counter({
    name: "collections_payment_links_total",
    help: "Requested payment links whose mint call has ended, by outcome.",
    labelNames: ["outcome"],
    registers,
  });
  return {
    registry,
    onAnswer({ endpoint, status, durationMs }) {
      answers.observe({ endpoint, status: String(status) }, durationMs / 1_000);
    },
    onBatch(items) {
      batches.inc();
      confirmations.inc(items);
    },
    onRefusedConnection: (limit) => refusedConnections.inc({ limit }),
    onSignIn: (step, outcome) => signIns.inc({ step, outcome }),
    onMint: (outcome) => mints.inc({ outcome }),
    webhooks: createWebhookMetrics(registry),
    ledger: createLedgerMetrics(registry),
    today: createTodayMetrics(registry),
    jobs: createJobMetrics(registry),
    outbound: createOutboundMetrics(registry),
  };
}
