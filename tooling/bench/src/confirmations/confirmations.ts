import type { BenchServer } from "../server/bench-server.ts";
import type { Books } from "../books/books.ts";
import { type Child, startChild } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import type { ConfirmLoad } from "../load/confirm-load.ts";
import { requireSameEffect, type RowsWritten, rowsWritten } from "../figures/effect.ts";
import { inTurn } from "./in-turn.ts";
import type { NaiveHandler } from "./naive-handler.ts";
import type { Loans } from "../load/payment.ts";
import type { ConfirmationPlan } from "../plan.ts";
import { processorMs } from "../figures/processor-time.ts";
import { type Service, startService } from "../server/service.ts";
import type { StatementLoad } from "./statement-load.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { leastDisturbed, type Watched } from "../figures/undisturbed.ts";

/**
 * One value for each of the three programs that confirm payments. `service` is the service. `statement` is the fastest
 * possible program: one SQL statement per payment by plain `pg`. `handler` is the usual solution: an HTTP handler that
 * awaits one query after the other.
 */
export interface EachSide<Value> {
  readonly service: Value;
  readonly statement: Value;
  readonly handler: Value;
}

/** The speed of one of the three programs, for a number of clients: medians over the rounds. */
export interface Side {
  readonly perSecond: Spread;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  /** Microseconds of processor time per confirmation, including the database's but not the HTTP load generator's. */
  readonly processorUs: number | undefined;
  /**
   * The processor time of the program that makes the load. For `statement` this time is also included in `processorUs`,
   * because there the program that makes the load is itself the database client.
   */
  readonly generatorUs: number;
}

/** The speed of the service, of the fastest possible program and of the usual solution, for a number of clients. */
export interface ConfirmationFigures extends EachSide<Side> {
  readonly clients: number;
  /** Whether all clients pay the same loan (`one`) or different loans (`many`). */
  readonly loans: "many" | "one";
  /** The service's rate divided by the rate of the fastest possible program (`statement`), in the same round. */
  readonly ratio: Spread;
  /** The service's rate divided by the rate of the usual solution (`handler`), in the same round. */
  readonly toHandler: Spread;
  /** The mean number of confirmations in a batch. */
  readonly batchSize: number;
  /** The number of processors that other processes kept busy, in the round in which it was highest. */
  readonly othersBusy: number | undefined;
}

/** The input of the measurement: the plan, the PostgreSQL server, the loans and the databases. */
export interface ConfirmationBench {
  readonly plan: ConfirmationPlan;
  readonly server: BenchServer;
  readonly books: Books;
  readonly loans: Loans;
  /** The database of each program. All three start with the same content. */
  readonly databaseUrls: EachSide<string>;
  readonly onProgress: (message: string) => void;
}

interface Measured extends LoadResult {
  readonly processorUs: number | undefined;
}

type Round = EachSide<Measured>;
type Load = (clients: number, durationMs: number, loans: Loans) => Promise<Measured>;

const SIDES = ["statement", "service", "handler"] as const;

/**
 * Measures how fast three programs confirm payments, in turn: the service over signed HTTP, the fastest possible
 * program (one SQL statement per payment), and the usual solution (a plain HTTP handler).
 */
export async function measureConfirmations(bench: ConfirmationBench): Promise<ConfirmationFigures[]> {
  const { plan, books, databaseUrls, onProgress } = bench;
  const service = await startService({ databaseUrl: databaseUrls.service, role: "server" });
  const [http, sql, handler] = [
    startChild(new URL("../load/confirm-load.ts", import.meta.url)),
    startChild(new URL("statement-load.ts", import.meta.url)),
    startChild(new URL("naive-handler.ts", import.meta.url)),
  ];
  const before = await written(databaseUrls);
  const counts = { service: 0, statement: 0, handler: 0 };
  const figures: ConfirmationFigures[] = [];
  let rounds = 0;
  let roundsOfRow = 0;
  try {
    const given: NaiveHandler = { databaseUrl: databaseUrls.handler, ...books };
    const handlerUrl = await handler.ask<string>(given);
    const loads: EachSide<Load> = {
      statement: statementLoad(bench, sql),
      service: httpLoad(bench, http, service.url, service.pid),
      handler: httpLoad(bench, http, handlerUrl, handler.pid),
    };

    async function round(clients: number, durationMs: number, kind: "many" | "one"): Promise<Round> {
      const measured: Partial<Record<(typeof SIDES)[number], Measured>> = {};
      rounds += 1;
      const loans = kind === "many" ? bench.loans : oneOf(bench.loans, rounds);
      for (const side of inTurn(SIDES, figures.length, roundsOfRow)) {
        measured[side] = await loads[side](clients, durationMs, loans);
        counts[side] += measured[side].completed;
      }
      roundsOfRow += 1;
      return measured as Round;
    }

    onProgress("warming up");
    await round(Math.max(...plan.clients), plan.warmUpMs, "many");
    for (const url of Object.values(databaseUrls)) await bench.server.analyze(url);
    for (const loans of ["many", "one"] as const) {
      for (const clients of loans === "many" ? plan.clients : plan.clientsOfOneLoan) {
        onProgress(`confirmations of ${clients} clients, ${loans} ${loans === "many" ? "loans" : "loan"}`);
        await bench.server.checkpoint();
        await round(clients, plan.roundMs / 2, loans);
        roundsOfRow = 0;
        const batching = await batchingOf(service);
        const pids = [process.pid, bench.server.pid];
        const watched = await leastDisturbed(plan.rounds, pids, () => round(clients, plan.roundMs, loans));
        const batchSize = meanBatch(batching, await batchingOf(service));
        figures.push({ clients, loans, batchSize, ...figuresOf(watched) });
      }
    }
  } finally {
    await Promise.all([http.stop(), sql.stop(), handler.stop(), service.stop()]);
  }
  requireSameEffect(before, await written(databaseUrls), counts);
  return figures;
}

/**
 * Returns the one loan that all clients pay in a round. Each round uses another loan, because a single loan would be
 * settled by the payments of all rounds together.
 */
function oneOf({ lenderCodes, perLender }: Loans, round: number): Loans {
  const lenderCode = lenderCodes[round % lenderCodes.length]!;
  return { lenderCodes: [lenderCode], perLender: 1, first: Math.floor(round / lenderCodes.length) % perLender };
}

function httpLoad({ books, server }: ConfirmationBench, http: Child, serviceUrl: string, pid: number): Load {
  let rounds = 0;
  return (clients, durationMs, loans) => {
    const series = `http-${(rounds += 1)}`;
    const to = { serviceUrls: [serviceUrl], keys: books.keys };
    const load: ConfirmLoad = { ...to, loans, series, clients, extent: { durationMs } };
    return measured([pid, server.pid], () => http.ask<LoadResult>(load));
  };
}

function statementLoad({ books, server, databaseUrls }: ConfirmationBench, sql: Child): Load {
  let rounds = 0;
  return (clients, durationMs, loans) => {
    const series = `statement-${(rounds += 1)}`;
    const to = { databaseUrl: databaseUrls.statement, lenderIds: books.lenderIds };
    const load: StatementLoad = { ...to, loans, series, clients, extent: { durationMs } };
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

function figuresOf(watched: readonly Watched<Round>[]): Omit<ConfirmationFigures, "clients" | "loans" | "batchSize"> {
  const rounds = watched.map(({ round }) => round);
  const ratioTo = (side: "statement" | "handler") =>
    spreadOf(rounds.map((round) => round.service.perSecond / round[side].perSecond));
  return {
    service: sideOf(rounds.map(({ service }) => service)),
    statement: sideOf(rounds.map(({ statement }) => statement)),
    handler: sideOf(rounds.map(({ handler }) => handler)),
    ratio: ratioTo("statement"),
    toHandler: ratioTo("handler"),
    othersBusy: watched.at(-1)?.othersBusy,
  };
}

function sideOf(rounds: readonly Measured[]): Side {
  const processor = rounds.flatMap(({ processorUs }) => processorUs ?? []);
  return {
    perSecond: spreadOf(rounds.map(({ perSecond }) => perSecond)),
    p50Ms: spreadOf(rounds.map(({ p50Ms }) => p50Ms)),
    p99Ms: spreadOf(rounds.map(({ p99Ms }) => p99Ms)),
    processorUs: processor.length === 0 ? undefined : spreadOf(processor).median,
    generatorUs: spreadOf(rounds.map(({ generatorUs }) => generatorUs)).median,
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

async function written({ service, statement, handler }: EachSide<string>): Promise<EachSide<RowsWritten>> {
  return {
    service: await rowsWritten(service),
    statement: await rowsWritten(statement),
    handler: await rowsWritten(handler),
  };
}
