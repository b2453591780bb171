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

/** How fast a backlog is worked off. */
export interface Pace {
  readonly perSecond: Spread;
  /** Microseconds of processor time per event, the database's included; the receiver is not. */
  readonly processorUs: Spread | undefined;
}

/** A backlog worked off by three: the service, pg-boss, and a bare loop that asks no database. */
export interface ThroughputFigures {
  readonly service: Pace;
  readonly naive: Pace;
  readonly bare: Pace;
  /** Of the rates of a round. */
  readonly serviceToBare: Spread;
  readonly naiveToBare: Spread;
  readonly serviceToNaive: Spread;
  /** Processors that others kept busy in the most disturbed of these rounds. */
  readonly othersBusy: number | undefined;
}

export interface ThroughputBench {
  readonly events: number;
  readonly rounds: number;
  readonly service: ServiceSender;
  readonly naive: Sender;
  readonly receiver: Child;
  /** Posts without more ado. */
  readonly posts: Child;
  readonly callbacks: Callbacks;
  readonly postgresPids: readonly number[];
}

/** How fast a number of events has left, and what that cost. */
export interface Drain {
  readonly perSecond: number;
  readonly processorUs: number | undefined;
}

export interface ThroughputRound {
  readonly service: Drain;
  readonly naive: Drain;
  readonly bare: Drain;
}

/** What the service has under way to one endpoint at most: the bare loop has as many connections. */
const POSTS_UNDER_WAY = 32;
const COMMITTING_CLIENTS = 32;

/** The same where a few answers take long, as they do: who waits for the slowest of a batch has most of its slots idle. */
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

/** From the first arrival to the last acknowledgement, which the senders have written down; rounds of the three in turn. */
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

/** Each works off the same number of events; the bare loop posts the very events of the service. */
export async function throughputRound(bench: ThroughputBench): Promise<ThroughputRound> {
  const { service, naive, events: count } = bench;
  await gather(service, count);
  const events = await service.waiting("prompt");
  if (events.length !== count) throw new Error(`${events.length} events wait instead of ${count}.`);
  const ofService = await drain(bench, service);
  const ofBare = await postAll(bench, events);
  await gather(naive, count);
  return { service: ofService, bare: ofBare, naive: await drain(bench, naive) };
}

/** Commits changes whose events wait until the sender may post. */
export async function gather(sender: Sender, count: number): Promise<void> {
  await sender.untilNothingWaits();
  await sender.hold("prompt");
  await sender.commit("prompt", count, COMMITTING_CLIENTS);
}

/** Lets a sender work off the events that `gather` has left with it. */
export async function drain(
  { events, receiver, postgresPids }: Pick<ThroughputBench, "events" | "receiver" | "postgresPids">,
  sender: Sender,
): Promise<Drain> {
  await receiver.ask({ ask: "forget" } satisfies ReceiverQuestion);
  const pids = [sender.pid, ...postgresPids];
  const usedBefore = processorMs(pids);
  await sender.letGo("prompt");
  const arrivals = await receiver.ask<Arrivals>({ ask: "arrivals", expected: events } satisfies ReceiverQuestion);
  await sender.untilNothingWaits();
  const processorUs = perEvent(usedBefore, processorMs(pids), events);
  const firstAtMs = Math.min(...Object.values(arrivals));
  return { perSecond: perSecond(events, firstAtMs, await sender.lastAcknowledgedAtMs()), processorUs };
}

/** Posts the events by a bare loop, which asks no database. */
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
