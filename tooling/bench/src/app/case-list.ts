import type { BenchServer } from "../server/bench-server.ts";
import { type Child, startChild } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import { startCountingProxy } from "../load/counting-proxy.ts";
import { dataOf, graphqlText } from "./graphql-call.ts";
import { documentedQuery } from "./documented-query.ts";
import type { ListLoad } from "./list-load.ts";
import type { ListRival } from "./list-rival.ts";
import type { ListPlan } from "../plan.ts";
import { processorMs } from "../figures/processor-time.ts";
import { startService } from "../server/service.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";
import type { BoundStatement } from "../load/wire.ts";

/**
 * How fast the service and a minimal GraphQL server (`rival`) answer requests for the list of cases, with a given
 * number of clients: medians over the rounds.
 */
export interface ListFigures {
  readonly clients: number;
  readonly service: ListSide;
  readonly rival: ListSide;
  /** The service's rate divided by the rate of the minimal GraphQL server, in the same round. */
  readonly ratio: Spread;
  readonly othersBusy: number | undefined;
}

export interface ListSide {
  readonly perSecond: Spread;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Node's processor time per answer, without PostgreSQL; undefined if the system does not report it. */
  readonly processorUs: number | undefined;
}

export interface ListReport {
  readonly statements: number;
  readonly cases: number;
  readonly figures: readonly ListFigures[];
}

export interface ListBench {
  readonly plan: ListPlan;
  readonly rounds: number;
  readonly server: BenchServer;
  readonly databaseUrl: string;
  readonly accessToken: string;
  readonly onProgress: (message: string) => void;
}

interface Measured extends LoadResult {
  readonly processorUs: number | undefined;
}

interface RecordedList {
  readonly query: string;
  /** The service's answer. */
  readonly answer: string;
  readonly statements: readonly BoundStatement[];
}

/**
 * Measures the service's list of cases. Compares it with a minimal GraphQL Yoga server that runs the same SQL
 * statements and returns a fixed answer. The two servers are measured in turn.
 */
export async function measureCaseList(bench: ListBench): Promise<ListReport> {
  const { plan, rounds, server, databaseUrl, onProgress } = bench;
  const recorded = await seenOnTheWire(bench);
  const service = await startService({ databaseUrl, role: "server" });
  const [rival, http] = [
    startChild(new URL("list-rival.ts", import.meta.url)),
    startChild(new URL("list-load.ts", import.meta.url)),
  ];
  try {
    const { statements, answer } = recorded;
    const given: ListRival = { databaseUrl, statements, data: dataOf(answer) };
    const urls = { service: service.url, rival: await rival.ask<string>(given) };
    const pids = { service: service.pid, rival: rival.pid };
    const load = (side: "service" | "rival", clients: number, durationMs: number) =>
      measured(http, pids[side], { ...loadOf(bench, recorded), url: urls[side], clients, durationMs });
    const round = async (clients: number, durationMs: number) => ({
      rival: await load("rival", clients, durationMs),
      service: await load("service", clients, durationMs),
    });
    onProgress("the list of cases: warming up");
    await round(Math.max(...plan.clients), plan.warmUpMs);
    await server.analyze(databaseUrl);
    const figures: ListFigures[] = [];
    for (const clients of plan.clients) {
      onProgress(`the list of cases, ${clients} clients`);
      const ours = [process.pid, server.pid];
      const watched = await leastDisturbed(rounds, ours, () => round(clients, plan.roundMs));
      const all = watched.map((one) => one.round);
      figures.push({
        clients,
        service: sideOf(all.map((one) => one.service)),
        rival: sideOf(all.map((one) => one.rival)),
        ratio: spreadOf(all.map((one) => one.service.perSecond / one.rival.perSecond)),
        othersBusy: watched.at(-1)?.othersBusy,
      });
    }
    return { statements: statements.length, cases: plan.cases, figures };
  } finally {
    await Promise.all([http.stop(), rival.stop(), service.stop()]);
  }
}

/**
 * Records the SQL statements that the service sends to PostgreSQL for the list of cases. Requests the list twice and
 * records only the second request, when the caches are filled.
 */
async function seenOnTheWire({ databaseUrl, accessToken }: ListBench): Promise<RecordedList> {
  const query = documentedQuery("MyCases");
  const proxy = await startCountingProxy(databaseUrl);
  const service = await startService({ databaseUrl: proxy.url, directUrl: databaseUrl, role: "server" });
  try {
    await graphqlText(service.url, accessToken, { query });
    let answer = "";
    const statements = await proxy.during(async () => {
      answer = await graphqlText(service.url, accessToken, { query });
    });
    return { query, answer, statements };
  } finally {
    await service.stop();
    await proxy.close();
  }
}

function loadOf(
  { accessToken }: ListBench,
  { query, answer }: RecordedList,
): Pick<ListLoad, "accessToken" | "query" | "answer"> {
  return { accessToken, query, answer };
}

async function measured(http: Child, pid: number, load: ListLoad): Promise<Measured> {
  const before = processorMs([pid]);
  const result = await http.ask<LoadResult>(load);
  const after = processorMs([pid]);
  const known = before !== undefined && after !== undefined;
  return { ...result, processorUs: known ? ((after - before) * 1_000) / result.completed : undefined };
}

function sideOf(rounds: readonly Measured[]): ListSide {
  const processor = rounds.flatMap(({ processorUs }) => processorUs ?? []);
  return {
    perSecond: spreadOf(rounds.map(({ perSecond }) => perSecond)),
    p50Ms: spreadOf(rounds.map(({ p50Ms }) => p50Ms)).median,
    p99Ms: spreadOf(rounds.map(({ p99Ms }) => p99Ms)).median,
    processorUs: processor.length === 0 ? undefined : spreadOf(processor).median,
  };
}
