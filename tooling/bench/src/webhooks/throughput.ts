import type { WaitingEvent } from "./callback-table.ts";
import type { Child } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import type { PostLoad } from "./post-load.ts";
import type { Stragglers } from "../plan.ts";
import { processorMs } from "../figures/processor-time.ts";
import type { Arrivals, Callbacks, ReceiverQuestion } from "./receiver.ts";
import type { Sender } from "./sender.ts";
import type { ServiceSender } from "./service-sender.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";

/** The rate at which a backlog is delivered. */
export interface Pace {
  readonly perSecond: Spread;
  /** Microseconds of processor time per event, including the database's but not the receiver's. */
  readonly processorUs: Spread | undefined;
}

/**
 * How fast three programs deliver a backlog: the service, the usual solution on pg-boss (`naive`), and a program that
 * only posts and uses no database (`bare`), which is the fastest possible.
 */
export interface ThroughputFigures {
  readonly service: Pace;
  readonly naive: Pace;
  readonly bare: Pace;
  /** The rate of one program divided by the rate of another program, in the same round. */
  readonly serviceToBare: Spread;
  readonly naiveToBare: Spread;
  readonly serviceToNaive: Spread;
  /** The number of processors that other processes kept busy, in the round in which it was highest. */
  readonly othersBusy: number | undefined;
}

export interface ThroughputBench {
  readonly events: number;
  readonly rounds: number;
  readonly service: ServiceSender;
  readonly naive: Sender;
  readonly receiver: Child;
  /** The process that only posts events and uses no database. */
  readonly posts: Child;
  readonly callbacks: Callbacks;
  readonly postgresPids: readonly number[];
}

/** The rate at which a number of events was delivered, and its processor time. */
export interface Drain {
  readonly perSecond: number;
  readonly processorUs: number | undefined;
}

export interface ThroughputRound {
  readonly service: Drain;
  readonly naive: Drain;
  readonly bare: Drain;
}

/**
 * The maximum number of requests that the service has under way to one endpoint. The program that only posts has as
 * many connections.
 */
const POSTS_UNDER_WAY = 32;
const COMMITTING_CLIENTS = 32;

/**
 * Measures the throughput while a few answers of the receiver are slow. It shows whether a program keeps posting
 * meanwhile, or waits for the slowest answer of a batch while most of its slots are idle.
 */
export async function measureUnevenThroughput(
  bench: ThroughputBench,
  stragglers: Stragglers,
): Promise<ThroughputFigures> {
  await bench.receiver.ask({ ask: "straggle", ...stragglers } satisfies ReceiverQuestion);
  try {
    return await measureThroughput(bench);
  } finally {
    await bench.receiver.ask({ ask: "straggle", oneOf: 0, delayMs: 0 } satisfies ReceiverQuestion);
  }
}

/**
 * Measures the service, the program that only posts and the usual solution on pg-boss, in turn. The time is from the
 * first arrival to the last recorded acknowledgement.
 */
export async function measureThroughput(bench: ThroughputBench): Promise<ThroughputFigures> {
  const pids = [process.pid, ...bench.postgresPids];
  const watched = await leastDisturbed(bench.rounds, pids, () => throughputRound(bench));
  const rounds = watched.map(({ round }) => round);
  const ratio = (part: keyof ThroughputRound, whole: keyof ThroughputRound): Spread =>
    spreadOf(rounds.map((round) => round[part].perSecond / round[whole].perSecond));
  return {
    service: paceOf(rounds.map(({ service }) => service)),
    naive: paceOf(rounds.map(({ naive }) => naive)),
    bare: paceOf(rounds.map(({ bare }) => bare)),
    serviceToBare: ratio("service", "bare"),
    naiveToBare: ratio("naive", "bare"),
    serviceToNaive: ratio("service", "naive"),
    othersBusy: watched.at(-1)?.othersBusy,
  };
}

/**
 * Runs one round, in which each of the three programs delivers the same number of events. The program that only posts
 * gets the events that the service has made.
 */
export async function throughputRound(bench: ThroughputBench): Promise<ThroughputRound> {
  const { service, naive, events: count } = bench;
  await gather(service, count);
  const events = await service.waiting("prompt");
  if (events.length !== count) throw new Error(`${events.length} events are waiting, expected ${count}.`);
  const ofService = await drain(bench, service);
  const ofBare = await postAll(bench, events);
  await gather(naive, count);
  return { service: ofService, bare: ofBare, naive: await drain(bench, naive) };
}

/** Makes a backlog: commits changes while the sender is not allowed to post their events. */
export async function gather(sender: Sender, count: number): Promise<void> {
  await sender.untilNothingWaits();
  await sender.hold("prompt");
  await sender.commit("prompt", count, COMMITTING_CLIENTS);
}

/** Lets a sender deliver the backlog that `gather` has made, and measures its rate. */
export async function drain(
  { events, receiver, postgresPids }: Pick<ThroughputBench, "events" | "receiver" | "postgresPids">,
  sender: Sender,
): Promise<Drain> {
  await receiver.ask({ ask: "forget" } satisfies ReceiverQuestion);
  const pids = [sender.pid, ...postgresPids];
  const usedBefore = processorMs(pids);
  await sender.resume("prompt");
  const arrivals = await receiver.ask<Arrivals>({ ask: "arrivals", expected: events } satisfies ReceiverQuestion);
  await sender.untilNothingWaits();
  const processorUs = perEvent(usedBefore, processorMs(pids), events);
  const firstAtMs = Math.min(...Object.values(arrivals));
  return { perSecond: perSecond(events, firstAtMs, await sender.lastAcknowledgedAtMs()), processorUs };
}

/** Lets the program that only posts, without a database, deliver the events, and measures its rate. */
export async function postAll(
  { receiver, posts, callbacks }: Pick<ThroughputBench, "receiver" | "posts" | "callbacks">,
  events: readonly WaitingEvent[],
): Promise<Drain> {
  await receiver.ask({ ask: "forget" } satisfies ReceiverQuestion);
  const usedBefore = processorMs([posts.pid]);
  const load: PostLoad = { url: callbacks.prompt, connections: POSTS_UNDER_WAY, events };
  await posts.ask<LoadResult>(load);
  const endedAtMs = performance.timeOrigin + performance.now();
  const processorUs = perEvent(usedBefore, processorMs([posts.pid]), events.length);
  const expected = events.length;
  const times = Object.values(await receiver.ask<Arrivals>({ ask: "arrivals", expected } satisfies ReceiverQuestion));
  return { perSecond: perSecond(expected, Math.min(...times), endedAtMs), processorUs };
}

function perSecond(events: number, fromMs: number, toMs: number): number {
  return (events / (toMs - fromMs)) * 1_000;
}

function perEvent(beforeMs: number | undefined, afterMs: number | undefined, events: number): number | undefined {
  return beforeMs === undefined || afterMs === undefined ? undefined : ((afterMs - beforeMs) * 1_000) / events;
}

export function paceOf(drains: readonly Drain[]): Pace {
  const processor = drains.flatMap(({ processorUs }) => processorUs ?? []);
  return {
    perSecond: spreadOf(drains.map((drained) => drained.perSecond)),
    processorUs: processor.length === 0 ? undefined : spreadOf(processor),
  };
}
