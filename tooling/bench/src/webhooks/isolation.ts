import { setTimeout as delay } from "node:timers/promises";
import type { Child } from "../load/child.ts";
import type { Arrivals, ReceiverQuestion } from "./receiver.ts";
import type { Sender } from "./sender.ts";
import { quantile, type Spread, spreadOf } from "../figures/statistics.ts";

/**
 * The time from commit to receipt of one lender's events. `idle` was measured on an idle system, `besideSlow` while
 * many events wait for another lender with a slow endpoint.
 */
export interface IsolationFigures {
  readonly idle: Latency;
  readonly besideSlow: Latency;
  /** `besideSlow` divided by `idle`, in the same round. */
  readonly ratio: Latency;
}

/** Percentiles of a latency in milliseconds, or of a ratio. */
export interface Latency {
  readonly p50: Spread;
  readonly p99: Spread;
}

export interface IsolationBench {
  readonly rounds: number;
  /**
   * The number of events whose latency is measured, once on an idle system and once beside the slow lender. They belong
   * to a lender that answers at once (`prompt`), and are committed one after the other.
   */
  readonly streamEvents: number;
  /** The number of events that wait for the lender with the slow endpoint. */
  readonly slowBacklog: number;
  readonly service: Sender;
  readonly naive: Sender;
  readonly receiver: Child;
}

/** How long the slow lender's endpoint takes for an answer. */
export const SLOW_ANSWER_MS = 3_000;

/** The interval between the commits of two events. On an idle system each event arrives long before the next commit. */
const EVENT_EVERY_MS = 25;
const COMMITTING_CLIENTS = 32;

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

interface Round {
  readonly idle: Percentiles;
  readonly besideSlow: Percentiles;
}

/**
 * Measures whether a slow lender delays the events of another lender. Measures the service and the usual solution on
 * pg-boss in turn, each without and with a backlog of the slow lender.
 */
export async function measureIsolation(
  bench: IsolationBench,
): Promise<{ service: IsolationFigures; naive: IsolationFigures }> {
  const rounds: { service: Round; naive: Round }[] = [];
  while (rounds.length < bench.rounds) {
    rounds.push({ service: await round(bench, bench.service), naive: await round(bench, bench.naive) });
  }
  return {
    service: figuresOf(rounds.map(({ service }) => service)),
    naive: figuresOf(rounds.map(({ naive }) => naive)),
  };
}

async function round(bench: IsolationBench, sender: Sender): Promise<Round> {
  const { receiver, slowBacklog } = bench;
  await sender.untilNothingWaits();
  const idle = await stream(bench, sender);
  await receiver.ask({ ask: "answerAfter", delayMs: SLOW_ANSWER_MS } satisfies ReceiverQuestion);
  await sender.hold("slow");
  await sender.commit("slow", slowBacklog, COMMITTING_CLIENTS);
  await sender.resume("slow");
  await receiver.ask({ ask: "keptWaiting" } satisfies ReceiverQuestion);
  const besideSlow = await stream(bench, sender);
  await receiver.ask({ ask: "answerAfter", delayMs: 0 } satisfies ReceiverQuestion);
  await sender.untilNothingWaits();
  return { idle, besideSlow };
}

/**
 * Commits events of the lender that answers at once, at a steady pace, even if earlier events have not arrived. Returns
 * their times from commit to receipt.
 */
async function stream({ receiver, streamEvents }: IsolationBench, sender: Sender): Promise<Percentiles> {
  await receiver.ask({ ask: "forget" } satisfies ReceiverQuestion);
  const startedAt = performance.now();
  for (let sent = 0; sent < streamEvents; sent += 1) {
    await delay(Math.max(0, startedAt + sent * EVENT_EVERY_MS - performance.now()));
    await sender.commit("prompt", 1, 1);
  }
  const question: ReceiverQuestion = { ask: "arrivals", expected: streamEvents };
  const arrivals = Object.entries(await receiver.ask<Arrivals>(question));
  const committedAtMs = await sender.committedAtMs(arrivals.map(([deliveryId]) => deliveryId));
  const latencies = arrivals.map(([deliveryId, atMs]) => atMs - committedAtMs.get(deliveryId)!);
  const sorted = latencies.toSorted((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}

function figuresOf(rounds: readonly Round[]): IsolationFigures {
  return {
    idle: latencyOf(rounds.map(({ idle }) => idle)),
    besideSlow: latencyOf(rounds.map(({ besideSlow }) => besideSlow)),
    ratio: latencyOf(
      rounds.map(({ idle, besideSlow }) => ({ p50: besideSlow.p50 / idle.p50, p99: besideSlow.p99 / idle.p99 })),
    ),
  };
}

function latencyOf(rounds: readonly Percentiles[]): Latency {
  return { p50: spreadOf(rounds.map(({ p50 }) => p50)), p99: spreadOf(rounds.map(({ p99 }) => p99)) };
}
