import { setTimeout as delay } from "node:timers/promises";
import { type BenchServer, DATA_DIR } from "../server/bench-server.ts";
import { type Child, startChild } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import type { ConfirmLoad } from "../load/confirm-load.ts";
import { requireDisk } from "./disk-space.ts";
import { type GrownBooks, growBooks } from "../books/grown-books.ts";
import { openClient } from "../server/open-client.ts";
import type { BookSize, GrowthPlan } from "../plan.ts";
import { processorMs } from "../figures/processor-time.ts";
import type { Arrivals, Callbacks, ReceiverQuestion } from "../webhooks/receiver.ts";
import { operator, type Service, startService } from "../server/service.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";

/** The cost of a confirmation and of a delivery in a larger database, relative to the smallest database. */
export interface GrowthFigures {
  readonly size: BookSize;
  readonly megabytes: number;
  readonly confirmation: Cost;
  readonly delivery: Cost;
  readonly othersBusy: number | undefined;
}

/**
 * The cost of one operation. Each ratio compares a round in the larger database with the round in the smallest database
 * just before it.
 */
export interface Cost {
  readonly perSecond: Spread;
  readonly smallestPerSecond: Spread;
  /** The ratio of the times per operation. */
  readonly time: Spread;
  /** The ratio of the processor times, including PostgreSQL's; undefined if the system does not report them. */
  readonly processor: Spread | undefined;
}

export interface GrowthReport {
  readonly smallest: BookSize;
  readonly figures: readonly GrowthFigures[];
}

export interface GrowthBench {
  readonly plan: GrowthPlan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
  /** The figures of an interrupted run. Sizes that have figures are not measured again. */
  readonly begun: GrowthReport | undefined;
  readonly keep: (begun: GrowthReport) => void;
}

interface Paces {
  readonly confirmation: Pace;
  readonly delivery: Pace;
}

interface Pace {
  readonly perSecond: number;
  readonly processorUs: number | undefined;
}

/**
 * The most events of a database that is checked by `ledger verify`. Larger databases are not checked, because the same
 * SQL fills them as the smaller ones.
 */
const MOST_VERIFIED = 400_000;
/** How long to wait after the lender's callback URL was removed, so that the worker has released its leases. */
const GIVEN_BACK_MS = 400;

/**
 * Measures whether the service becomes slower when its database grows. Compares each larger database in turn with a
 * copy of the smallest database. Each of the two databases has its own server and worker.
 */
export async function measureGrowth(bench: GrowthBench): Promise<GrowthReport> {
  const { plan, server, onProgress, begun, keep } = bench;
  requireDisk(plan, DATA_DIR, onProgress);
  const smallest = await growBooks(server, "smallest", plan.smallest, onProgress);
  await verified(smallest, onProgress);
  const figures: GrowthFigures[] = [...(begun?.figures ?? [])];
  const measured = new Set(figures.map((one) => sizeText(one.size)));
  for (const [index, size] of plan.larger.entries()) {
    if (measured.has(sizeText(size))) continue;
    const larger = await growBooks(server, `larger_${index}`, size, onProgress);
    if (size.events <= MOST_VERIFIED) await verified(larger, onProgress);
    const copy = { ...smallest, databaseUrl: await server.createDatabase(`smallest_${index}`, "smallest") };
    await server.checkpoint();
    figures.push(await compare(bench, size, copy, larger));
    keep({ smallest: plan.smallest, figures });
    for (const name of [`larger_${index}`, `smallest_${index}`]) await server.dropDatabase(name);
  }
  return { smallest: plan.smallest, figures };
}

/** Runs `ledger verify` on the database. Throws if it finds a problem in the rows that SQL has written. */
async function verified({ databaseUrl }: GrownBooks, onProgress: (message: string) => void): Promise<void> {
  onProgress("verifying the ledger");
  await operator(databaseUrl, "ledger", "verify");
}

async function compare(
  { plan, server, onProgress }: GrowthBench,
  size: BookSize,
  small: GrownBooks,
  large: GrownBooks,
): Promise<GrowthFigures> {
  const receiver = startChild(new URL("../webhooks/receiver.ts", import.meta.url));
  const sides = [await openSide(small, receiver), await openSide(large, receiver)];
  const name = sizeText(size);
  const megabytes = await megabytesOf(large.databaseUrl);
  const round = async () => {
    const [ofSmall, ofLarge] = [await sides[0]!.round(plan, server.pid), await sides[1]!.round(plan, server.pid)];
    return { small: ofSmall, large: ofLarge };
  };
  try {
    onProgress(`${name}: warming up`);
    await round();
    for (const { databaseUrl } of [small, large]) await server.analyze(databaseUrl);
    await server.checkpoint();
    await round();
    onProgress(`${name}: confirming and delivering`);
    const watched = await leastDisturbed(plan.rounds, [process.pid, server.pid], round);
    const rounds = watched.map((one) => one.round);
    const cost = (of: keyof Paces) => costOf(rounds.map((one) => ({ small: one.small[of], large: one.large[of] })));
    const othersBusy = watched.at(-1)?.othersBusy;
    return { size, megabytes, confirmation: cost("confirmation"), delivery: cost("delivery"), othersBusy };
  } finally {
    for (const side of sides) await side.close();
    await receiver.stop();
  }
}

interface GrowthSide {
  round(plan: GrowthPlan, postgresPid: number): Promise<Paces>;
  close(): Promise<void>;
}

/**
 * Starts a server and a worker on the database. Each round confirms payments while no event can be delivered, and then
 * lets the worker deliver the events.
 */
async function openSide(books: GrownBooks, receiver: Child): Promise<GrowthSide> {
  const { databaseUrl } = books;
  const { prompt } = await receiver.ask<Callbacks>({ ask: "callbacks" } satisfies ReceiverQuestion);
  const [server, worker] = [
    await startService({ databaseUrl, role: "server" }),
    await startService({ databaseUrl, role: "worker" }),
  ];
  const http = startChild(new URL("../load/confirm-load.ts", import.meta.url));
  const client = await openClient(databaseUrl);
  let series = 0;
  const setUrl = (url: string | null) => client.query("update webhooks.endpoint set url = $1", [url]);
  return {
    async round({ confirmations: count, clients }, postgresPid) {
      const load: ConfirmLoad = {
        serviceUrls: [server.url],
        keys: books.keys,
        loans: books.loans,
        series: `growth-${(series += 1)}`,
        clients,
        extent: { count },
      };
      const confirmation = await paced(count, [server, postgresPid], async () => {
        return (await http.ask<LoadResult>(load)).elapsedMs;
      });
      await receiver.ask({ ask: "forget" } satisfies ReceiverQuestion);
      const delivery = await paced(count, [worker, postgresPid], async () => {
        await setUrl(prompt);
        const question: ReceiverQuestion = { ask: "arrivals", expected: count };
        const arrivals = Object.values(await receiver.ask<Arrivals>(question)).toSorted((a, b) => a - b);
        return arrivals[count - 1]! - arrivals[0]!;
      });
      await setUrl(null);
      await delay(GIVEN_BACK_MS);
      return { confirmation, delivery };
    },
    async close() {
      await Promise.all([client.end(), http.stop(), server.stop(), worker.stop()]);
    },
  };
}

/** Runs `act`, which returns its duration in milliseconds. */
async function paced(
  count: number,
  [service, postgresPid]: readonly [Service, number],
  act: () => Promise<number>,
): Promise<Pace> {
  const pids = [service.pid, postgresPid];
  const before = processorMs(pids);
  const elapsedMs = await act();
  const after = processorMs(pids);
  const processorUs = before === undefined || after === undefined ? undefined : ((after - before) * 1_000) / count;
  return { perSecond: (count / elapsedMs) * 1_000, processorUs };
}

function costOf(rounds: readonly { readonly small: Pace; readonly large: Pace }[]): Cost {
  const processor = rounds.flatMap(({ small, large }) =>
    small.processorUs && large.processorUs ? [large.processorUs / small.processorUs] : [],
  );
  return {
    perSecond: spreadOf(rounds.map(({ large }) => large.perSecond)),
    smallestPerSecond: spreadOf(rounds.map(({ small }) => small.perSecond)),
    time: spreadOf(rounds.map(({ small, large }) => small.perSecond / large.perSecond)),
    processor: processor.length === 0 ? undefined : spreadOf(processor),
  };
}

async function megabytesOf(databaseUrl: string): Promise<number> {
  const client = await openClient(databaseUrl);
  const { rows } = await client.query<{ mb: number }>(
    "select (pg_database_size(current_database()) / 1048576)::integer as mb",
  );
  await client.end();
  return rows[0]!.mb;
}

/** Describes the content of a database: `10,000 events, 1,000 lenders`. */
export function sizeText({ events, lenders, waiting }: BookSize): string {
  const parts = [`${events.toLocaleString("en")} events`];
  if (lenders > 1) parts.push(`${lenders.toLocaleString("en")} lenders`);
  if (waiting > 1) parts.push(`${waiting.toLocaleString("en")} waiting`);
  return parts.join(", ");
}
