import type { BenchServer } from "./bench-server.ts";
import type { Books } from "./books.ts";
import { type Child, startChild } from "./child.ts";
import type { LoadResult } from "./closed-loop.ts";
import type { ConfirmLoad } from "./confirm-load.ts";
import { requireSameEffect, rowsWritten } from "./effect.ts";
import type { Loans } from "./payment.ts";
import type { ConfirmationPlan } from "./plan.ts";
import { processorMs } from "./processor-time.ts";
import { type Service, startService } from "./service.ts";
import type { StatementLoad } from "./statement-load.ts";
import { type Spread, spreadOf } from "./statistics.ts";
import { leastDisturbed, type Watched } from "./undisturbed.ts";

/** One side of the comparison at one number of clients: medians over the rounds. */
export interface Side {
  readonly perSecond: Spread;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Microseconds of processor time per confirmation, the database's included; the load generator of HTTP is not. */
  readonly processorUs: number | undefined;
}

/** The service and its limit at one number of clients. */
export interface ConfirmationFigures {
  readonly clients: number;
  readonly service: Side;
  readonly statement: Side;
  /** Of the rates of a round of the service and the round of the limit beside it. */
  readonly ratio: Spread;
  /** Confirmations that travelled together, on average. */
  readonly batchSize: number;
  /** Processors that others kept busy in the most disturbed of these rounds. */
  readonly othersBusy: number | undefined;
}

/** What the confirmations of a run need. */
export interface ConfirmationBench {
  readonly plan: ConfirmationPlan;
  readonly server: BenchServer;
  readonly books: Books;
  readonly loans: Loans;
  /** Two databases of the same content: each side pays into its own. */
  readonly databaseUrls: { readonly service: string; readonly statement: string };
  readonly onProgress: (message: string) => void;
}

interface Measured extends LoadResult {
  readonly processorUs: number | undefined;
}

interface Round {
  readonly statement: Measured;
  readonly service: Measured;
}

type Load = (clients: number, durationMs: number) => Promise<Measured>;

/** Measures signed confirmations over HTTP and, in turn with them, one bare statement per confirmation. */
export async function measureConfirmations(bench: ConfirmationBench): Promise<ConfirmationFigures[]> {
  const { plan, databaseUrls, onProgress } = bench;
  const service = await startService({ databaseUrl: databaseUrls.service, role: "server" });
  const [http, sql] = [startChild("confirm-load.ts"), startChild("statement-load.ts")];
  const before = await written(databaseUrls);
  const figures: ConfirmationFigures[] = [];
  const loads = { service: serviceLoad(bench, service, http), statement: statementLoad(bench, sql) };
  let counts = { service: 0, statement: 0 };

  async function round(clients: number, durationMs: number): Promise<Round> {
    const statement = await loads.statement(clients, durationMs);
    const ofService = await loads.service(clients, durationMs);
    counts = {
      service: counts.service + ofService.completed,
      statement: counts.statement + statement.completed,
    };
    return { statement, service: ofService };
  }

  try {
    onProgress("warming up");
    await round(Math.max(...plan.clients), plan.warmUpMs);
    for (const url of Object.values(databaseUrls)) await bench.server.analyze(url);
    for (const clients of plan.clients) {
      onProgress(`confirmations of ${clients} clients`);
      await round(clients, plan.roundMs / 2);
      const batching = await batchingOf(service);
      const pids = [process.pid, bench.server.pid];
      const rounds = await leastDisturbed(plan.rounds, pids, () => round(clients, plan.roundMs));
      figures.push(figuresOf(clients, rounds, meanBatch(batching, await batchingOf(service))));
    }
  } finally {
    await Promise.all([http.stop(), sql.stop(), service.stop()]);
  }
  requireSameEffect(before, await written(databaseUrls), counts);
  return figures;
}

function serviceLoad({ books, loans, server }: ConfirmationBench, service: Service, http: Child): Load {
  let series = 0;
  return (clients, durationMs) => {
    const { keys } = books;
    const load: ConfirmLoad = {
      serviceUrl: service.url,
      keys,
      loans,
      series: `http-${(series += 1)}`,
      clients,
      extent: { durationMs },
    };
    return measured([service.pid, server.pid], () => http.ask<LoadResult>(load));
  };
}

function statementLoad({ books, loans, server, databaseUrls }: ConfirmationBench, sql: Child): Load {
  let series = 0;
  return (clients, durationMs) => {
    const { lenderIds } = books;
    const load: StatementLoad = {
      databaseUrl: databaseUrls.statement,
      lenderIds,
      loans,
      series: `statement-${(series += 1)}`,
      clients,
      extent: { durationMs },
    };
    return measured([sql.pid, server.pid], () => sql.ask<LoadResult>(load));
  };
}

async function measured(pids: readonly number[], run: () => Promise<LoadResult>): Promise<Measured> {
  const before = processorMs(pids);
  const result = await run();
  const after = processorMs(pids);
  const usedMs = before === undefined || after === undefined ? undefined : after - before;
  return { ...result, processorUs: usedMs === undefined ? undefined : (usedMs * 1_000) / result.completed };
}

function figuresOf(clients: number, watched: readonly Watched<Round>[], batchSize: number): ConfirmationFigures {
  const rounds = watched.map(({ round }) => round);
  return {
    clients,
    service: sideOf(rounds.map(({ service }) => service)),
    statement: sideOf(rounds.map(({ statement }) => statement)),
    ratio: spreadOf(rounds.map(({ service, statement }) => service.perSecond / statement.perSecond)),
    batchSize,
    othersBusy: watched.at(-1)?.othersBusy,
  };
}

function sideOf(rounds: readonly Measured[]): Side {
  const processor = rounds.flatMap(({ processorUs }) => processorUs ?? []);
  return {
    perSecond: spreadOf(rounds.map(({ perSecond }) => perSecond)),
    p50Ms: spreadOf(rounds.map(({ p50Ms }) => p50Ms)).median,
    p99Ms: spreadOf(rounds.map(({ p99Ms }) => p99Ms)).median,
    processorUs: processor.length === 0 ? undefined : spreadOf(processor).median,
  };
}

interface Batching {
  readonly batches: number;
  readonly confirmations: number;
}

async function batchingOf(service: Service): Promise<Batching> {
  const batches = await service.metric("collections_confirmation_batches_total");
  return { batches, confirmations: await service.metric("collections_confirmations_total") };
}

function meanBatch(before: Batching, after: Batching): number {
  return (after.confirmations - before.confirmations) / (after.batches - before.batches);
}

async function written({ service, statement }: ConfirmationBench["databaseUrls"]) {
  return { service: await rowsWritten(service), statement: await rowsWritten(statement) };
}
