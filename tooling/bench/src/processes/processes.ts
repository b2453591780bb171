import type { Client } from "pg";
import { setTimeout as delay } from "node:timers/promises";
import type { BenchServer } from "../server/bench-server.ts";
import { type Books, fillBooks } from "../books/books.ts";
import { type Child, startChild } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import type { ConfirmLoad } from "../load/confirm-load.ts";
import { openClient } from "../server/open-client.ts";
import { COMMISSION_PERCENT, type Loans } from "../load/payment.ts";
import type { ProcessesPlan } from "../plan.ts";
import type { Arrivals, Callbacks, ReceiverQuestion } from "../webhooks/receiver.ts";
import { type Service, startService } from "../server/service.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";

/** The joint rate of several processes on one PostgreSQL. */
export interface ProcessesFigures {
  readonly role: "server" | "worker";
  readonly processes: number;
  /** For servers: confirmations per second. For workers: deliveries per second. */
  readonly perSecond: Spread;
  /** The ratio of this rate to the rate of one process in the same round. */
  readonly ratio: Spread;
  readonly othersBusy: number | undefined;
}

export interface ProcessesBench {
  readonly plan: ProcessesPlan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
}

interface Stage extends ProcessesBench {
  readonly databaseUrl: string;
  readonly books: Books;
  readonly loans: Loans;
  readonly http: Child;
  readonly receiver: Child;
}

const CODE = "SHARED";
/**
 * How many times smaller the warm-up backlog is than the measured backlog. The workers deliver a warm-up backlog first,
 * because a worker that has just started looks for waiting events at once.
 */
const WARM_UP_PART = 4;
/** How long to wait after the lender's callback URL was removed, so that each worker has released its leases. */
const SETTLED_MS = 400;

/**
 * Measures whether several processes on one PostgreSQL are faster than one. Measures one, two and four servers in each
 * round, and afterwards one, two and four workers in each round.
 */
export async function measureProcesses(bench: ProcessesBench): Promise<ProcessesFigures[]> {
  const { plan, server, onProgress } = bench;
  const [http, receiver] = [
    startChild(new URL("../load/confirm-load.ts", import.meta.url)),
    startChild(new URL("../webhooks/receiver.ts", import.meta.url)),
  ];
  try {
    onProgress("filling the database");
    const loans = { lenderCodes: [CODE], perLender: plan.loans };
    const databaseUrl = await server.createDatabase("shared");
    const options = [`--commission-percent=${COMMISSION_PERCENT}`];
    const books = await fillBooks(databaseUrl, [{ loans, options }]);
    const stage = { ...bench, databaseUrl, books, loans, http, receiver };
    const most = Math.max(...plan.numbers);
    const servers = await Promise.all(
      Array.from({ length: most }, () => startService({ databaseUrl, role: "server" })),
    );
    try {
      return [...(await measureServers(stage, servers)), ...(await measureWorkers(stage, servers[0]!))];
    } finally {
      await Promise.all(servers.map((one) => one.stop()));
    }
  } finally {
    await Promise.all([http.stop(), receiver.stop()]);
  }
}

/**
 * Measures the rate of confirmations with one, two and four servers. The number of clients is always the same. Servers
 * that a measurement does not use stay idle.
 */
async function measureServers(stage: Stage, servers: readonly Service[]): Promise<ProcessesFigures[]> {
  const { plan, server, databaseUrl, onProgress } = stage;
  onProgress("servers: warming up");
  await confirm(stage, servers, { durationMs: plan.roundMs });
  await server.analyze(databaseUrl);
  await server.checkpoint();
  const round = async (): Promise<number[]> => {
    const rates: number[] = [];
    for (const number of plan.numbers) {
      rates.push((await confirm(stage, servers.slice(0, number), { durationMs: plan.roundMs })).perSecond);
    }
    return rates;
  };
  await round();
  onProgress("servers: confirming");
  return figuresOf("server", stage, round);
}

/** Measures one, two and four workers, which deliver the same backlog. */
async function measureWorkers(stage: Stage, confirmer: Service): Promise<ProcessesFigures[]> {
  const { plan, server, databaseUrl, receiver, onProgress } = stage;
  const { prompt } = await receiver.ask<Callbacks>({ ask: "callbacks" } satisfies ReceiverQuestion);
  const client = await openClient(databaseUrl);
  // Mark the events that remain from the measurement of the servers as delivered, so that the workers do not deliver
  // them.
  await client.query("update webhooks.delivery set state = 'delivered', settled_at = now() where state = 'waiting'");
  await server.analyze(databaseUrl);
  await server.checkpoint();
  const confirmAndDrain = async (count: number): Promise<number> => {
    await confirm(stage, [confirmer], { count });
    return drain(stage, client, { url: prompt, count });
  };
  const round = async (): Promise<number[]> => {
    const rates: number[] = [];
    const workers: Service[] = [];
    for (const number of plan.numbers) {
      const more = Array.from({ length: number - workers.length }, () => startService({ databaseUrl, role: "worker" }));
      workers.push(...(await Promise.all(more)));
      // Some workers have just started and others run already. All deliver a first backlog, which is not measured, so
      // that their state is equal. Only the second backlog is measured.
      await confirmAndDrain(plan.events / WARM_UP_PART);
      rates.push(await confirmAndDrain(plan.events));
    }
    await Promise.all(workers.map((worker) => worker.stop()));
    return rates;
  };
  onProgress("workers: delivering");
  const figures = await figuresOf("worker", stage, round);
  await client.end();
  return figures;
}

async function drain(
  { receiver }: Stage,
  client: Client,
  { url, count }: { readonly url: string; readonly count: number },
): Promise<number> {
  await delay(SETTLED_MS);
  await receiver.ask({ ask: "forget" } satisfies ReceiverQuestion);
  await client.query("update webhooks.endpoint set url = $1", [url]);
  const question: ReceiverQuestion = { ask: "arrivals", expected: count };
  const arrivals = Object.values(await receiver.ask<Arrivals>(question));
  await client.query("update webhooks.endpoint set url = null");
  await delay(SETTLED_MS);
  return (count / (Math.max(...arrivals) - Math.min(...arrivals))) * 1_000;
}

let series = 0;

function confirm(
  { plan, books, loans, http }: Stage,
  servers: readonly Service[],
  extent: ConfirmLoad["extent"],
): Promise<LoadResult> {
  const load: ConfirmLoad = {
    serviceUrls: servers.map(({ url }) => url),
    keys: books.keys,
    loans,
    series: `shared-${(series += 1)}`,
    clients: plan.clients,
    extent,
  };
  return http.ask<LoadResult>(load);
}

async function figuresOf(
  role: ProcessesFigures["role"],
  { plan, server }: Stage,
  round: () => Promise<number[]>,
): Promise<ProcessesFigures[]> {
  const watched = await leastDisturbed(plan.rounds, [process.pid, server.pid], round);
  const rounds = watched.map((one) => one.round);
  return plan.numbers.map((processes, index) => ({
    role,
    processes,
    perSecond: spreadOf(rounds.map((rates) => rates[index]!)),
    ratio: spreadOf(rounds.map((rates) => rates[index]! / rates[0]!)),
    othersBusy: watched.at(-1)?.othersBusy,
  }));
}
