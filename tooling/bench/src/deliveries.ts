import { setTimeout as delay } from "node:timers/promises";
import type { BenchServer } from "./bench-server.ts";
import type { Books } from "./books.ts";
import { type Child, startChild } from "./child.ts";
import type { LoadResult } from "./closed-loop.ts";
import type { ConfirmLoad } from "./confirm-load.ts";
import { type CallbackTable, openCallbackTable } from "./callback-table.ts";
import type { Loans } from "./payment.ts";
import type { Plan } from "./plan.ts";
import type { PostLoad } from "./post-load.ts";
import type { Arrivals, ReceiverQuestion } from "./receiver.ts";
import { startService } from "./service.ts";
import { quantile, type Spread, spreadOf } from "./statistics.ts";
import { leastDisturbed, type Watched } from "./undisturbed.ts";

/** Delivered events beside a bare loop of posts to the same receiver. */
export interface DeliveryFigures {
  readonly eventsPerSecond: Spread;
  readonly postsPerSecond: Spread;
  /** Of the rates of a round. */
  readonly ratio: Spread;
  /** Processors that others kept busy in the most disturbed of these rounds. */
  readonly othersBusy: number | undefined;
  /** From the commit of a single event to its arrival, nothing else going on. */
  readonly commitToArrival: { readonly events: number; readonly p50Ms: number; readonly p99Ms: number };
}

export interface DeliveryBench {
  readonly plan: Plan;
  readonly books: Books;
  /** Of one lender, whose events go to the receiver. */
  readonly loans: Loans;
  readonly databaseUrl: string;
  readonly server: BenchServer;
  readonly receiver: Child;
  readonly onProgress: (message: string) => void;
}

interface Round {
  readonly eventsPerSecond: number;
  readonly postsPerSecond: number;
}

/** What the service has under way to one endpoint at most: the bare loop has as many connections. */
const POSTS_UNDER_WAY = 32;
const CONFIRMING_CLIENTS = 32;
const PAUSE_MS = 10;

/** Measures a worker that finds a backlog, and then one event at a time. The worker is a process beside the server. */
export async function measureDeliveries(bench: DeliveryBench): Promise<DeliveryFigures> {
  const { plan, databaseUrl, books, loans, receiver, onProgress } = bench;
  const lenderId = books.lenderIds[loans.lenderCodes[0]!]!;
  const [server, worker, callback] = await Promise.all([
    startService({ databaseUrl, role: "server" }),
    startService({ databaseUrl, role: "worker" }),
    openCallbackTable(databaseUrl, lenderId, await receiver.ask<string>({ ask: "url" } satisfies ReceiverQuestion)),
  ]);
  const [http, posts] = [startChild("confirm-load.ts"), startChild("post-load.ts")];
  let series = 0;

  async function confirm(count: number, clients: number): Promise<void> {
    const { keys } = books;
    const name = `delivered-${(series += 1)}`;
    const load: ConfirmLoad = { serviceUrl: server.url, keys, loans, series: name, clients, extent: { count } };
    await http.ask<LoadResult>(load);
  }

  try {
    onProgress("events: warming up");
    await backlogRound(bench, { callback, posts, confirm });
    onProgress("events: a backlog");
    const pids = [process.pid, bench.server.pid];
    const rounds = await leastDisturbed(plan.deliveryRounds, pids, () =>
      backlogRound(bench, { callback, posts, confirm }),
    );
    onProgress("events: one at a time");
    await callback.untilNothingWaits();
    const latencies = await singleEvents(bench, callback, () => confirm(1, 1));
    return figuresOf(rounds, latencies);
  } finally {
    await callback.close();
    await Promise.all([http.stop(), posts.stop(), server.stop(), worker.stop()]);
  }
}

interface Hands {
  readonly callback: CallbackTable;
  readonly posts: Child;
  readonly confirm: (count: number, clients: number) => Promise<void>;
}

/** Lets events gather while the lender has no callback, gives it one, and counts what arrives; then posts the same. */
async function backlogRound({ plan, receiver }: DeliveryBench, { callback, posts, confirm }: Hands): Promise<Round> {
  await callback.untilNothingWaits();
  await callback.takeAway();
  await confirm(plan.events, CONFIRMING_CLIENTS);
  const events = await callback.waiting();
  if (events.length !== plan.events) throw new Error(`${events.length} events wait instead of ${plan.events}.`);
  const delivered = await arrivals(receiver, plan.events, () => callback.giveBack());
  await callback.untilNothingWaits();

  const load: PostLoad = { url: callback.url, connections: POSTS_UNDER_WAY, events };
  const posted = await arrivals(receiver, plan.events, () => posts.ask<LoadResult>(load));
  return {
    eventsPerSecond: rateOf(delivered),
    postsPerSecond: rateOf(posted),
  };
}

/** Milliseconds from commit to arrival, sorted. */
async function singleEvents(
  { plan, receiver }: DeliveryBench,
  callback: CallbackTable,
  confirmOne: () => Promise<void>,
): Promise<number[]> {
  const arrivedAtMs = new Map<string, number>();
  while (arrivedAtMs.size < plan.singleEvents) {
    const arrived = await arrivals(receiver, 1, confirmOne);
    for (const [deliveryId, atMs] of Object.entries(arrived)) arrivedAtMs.set(deliveryId, atMs);
    await delay(PAUSE_MS);
  }
  const committedAtMs = await callback.committedAtMs([...arrivedAtMs.keys()]);
  return [...arrivedAtMs].map(([deliveryId, atMs]) => atMs - committedAtMs.get(deliveryId)!).toSorted((a, b) => a - b);
}

/** What arrives because of `act`. */
async function arrivals(receiver: Child, expected: number, act: () => Promise<unknown>): Promise<Arrivals> {
  await receiver.ask({ ask: "forget" } satisfies ReceiverQuestion);
  await act();
  return receiver.ask<Arrivals>({ ask: "arrivals", expected } satisfies ReceiverQuestion);
}

/** From the first arrival to the last, so that neither a process's start nor a poll is part of it. */
function rateOf(arrivedAtMs: Arrivals): number {
  const times = Object.values(arrivedAtMs).toSorted((a, b) => a - b);
  return ((times.length - 1) / (times.at(-1)! - times[0]!)) * 1_000;
}

function figuresOf(watched: readonly Watched<Round>[], latencies: readonly number[]): DeliveryFigures {
  const rounds = watched.map(({ round }) => round);
  return {
    eventsPerSecond: spreadOf(rounds.map(({ eventsPerSecond }) => eventsPerSecond)),
    postsPerSecond: spreadOf(rounds.map(({ postsPerSecond }) => postsPerSecond)),
    ratio: spreadOf(rounds.map(({ eventsPerSecond, postsPerSecond }) => eventsPerSecond / postsPerSecond)),
    othersBusy: watched.at(-1)?.othersBusy,
    commitToArrival: {
      events: latencies.length,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
    },
  };
}
