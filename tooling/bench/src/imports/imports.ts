import type { BenchServer } from "../server/bench-server.ts";
import type { LenderKey } from "../books/books.ts";
import { type Child, startChild } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import { copyTables } from "./copied-tables.ts";
import { requireSameEffect, rowsWritten } from "../figures/effect.ts";
import type { ImportLoad } from "./import-load.ts";
import { peakMemoryMb } from "../figures/peak-memory.ts";
import type { ImportPlan } from "../plan.ts";
import { processorMs } from "../figures/processor-time.ts";
import { startService } from "../server/service.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";

/**
 * The speed of an import of new cases when a number of requests (`clients`) is sent at the same time: medians and
 * spreads over the rounds.
 */
export interface ImportFigures {
  readonly clients: number;
  readonly service: {
    readonly rowsPerSecond: Spread;
    /** The time of one request. */
    readonly p50Ms: number;
    readonly p99Ms: number;
    /** Processor time per row, without PostgreSQL's; undefined if the system does not report it. */
    readonly processorUs: Spread | undefined;
    readonly postgresUs: Spread | undefined;
    /** The service's peak memory. */
    readonly peakMemoryMb: Spread | undefined;
  };
  readonly copy: { readonly rowsPerSecond: Spread; readonly postgresUs: Spread | undefined };
  /** The ratio of the service's rows a second to COPY's. */
  readonly ratio: Spread;
  readonly othersBusy: number | undefined;
}

export interface ImportBench {
  readonly plan: ImportPlan;
  readonly server: BenchServer;
  /** The name of a database that has one lender. */
  readonly template: string;
  readonly key: LenderKey;
  readonly onProgress: (message: string) => void;
}

const ROWS_PER_REQUEST = 1_000;

/**
 * Measures the import of new cases, compared with PostgreSQL's COPY of the same rows. Each round begins with two copies
 * of the database `template`. The service imports rows over HTTP into the first copy. Then COPY writes the same rows
 * into the second copy.
 */
export async function measureImports(bench: ImportBench): Promise<ImportFigures[]> {
  const { plan, server, onProgress } = bench;
  const http = startChild(new URL("import-load.ts", import.meta.url));
  const figures: ImportFigures[] = [];
  try {
    for (const clients of plan.clients) {
      onProgress(`import with ${clients} requests at a time`);
      const watched = await leastDisturbed(plan.rounds, [process.pid, server.pid], () => round(bench, http, clients));
      const rounds = watched.map((one) => one.round);
      figures.push({ ...figuresOf(clients, rounds), othersBusy: watched.at(-1)?.othersBusy });
    }
  } finally {
    await http.stop();
  }
  return figures;
}

interface Round {
  readonly service: LoadResult & {
    readonly processorUs: number | undefined;
    readonly postgresUs: number | undefined;
    readonly peakMemoryMb: number | undefined;
  };
  readonly copy: { readonly elapsedMs: number; readonly postgresUs: number | undefined };
  readonly rows: number;
}

async function round({ plan, server, template, key }: ImportBench, http: Child, clients: number): Promise<Round> {
  const imported = await server.createDatabase("imported", template);
  const copied = await server.createDatabase("copied", template);
  const requests = Math.ceil(plan.rows / ROWS_PER_REQUEST);
  const rows = requests * ROWS_PER_REQUEST;
  const before = { service: await rowsWritten(imported), statement: await rowsWritten(copied) };
  const service = await startService({ databaseUrl: imported, role: "server" });
  await server.checkpoint();
  const load: ImportLoad = { serviceUrl: service.url, key, clients, requests, rowsPerRequest: ROWS_PER_REQUEST };
  const [nodeBefore, postgresBefore] = [processorMs([service.pid]), processorMs([server.pid])];
  const result = await http.ask<LoadResult>(load);
  const ofService = {
    ...result,
    processorUs: perRowUs(nodeBefore, processorMs([service.pid]), rows),
    postgresUs: perRowUs(postgresBefore, processorMs([server.pid]), rows),
    peakMemoryMb: peakMemoryMb(service.pid),
  };
  await service.stop();

  const tables = await copyTables(imported);
  await server.checkpoint();
  const copyBefore = processorMs([server.pid]);
  const { elapsedMs } = await tables.into(copied);
  const copy = { elapsedMs, postgresUs: perRowUs(copyBefore, processorMs([server.pid]), rows) };
  await tables.remove();
  const after = { service: await rowsWritten(imported), statement: await rowsWritten(copied) };
  requireSameEffect(before, after, { service: rows, statement: rows });
  for (const name of ["imported", "copied"]) await server.dropDatabase(name);
  return { service: ofService, copy, rows };
}

function figuresOf(clients: number, rounds: readonly Round[]): Omit<ImportFigures, "othersBusy"> {
  const spread = (of: (round: Round) => number) => spreadOf(rounds.map(of));
  const known = (of: (round: Round) => number | undefined) => {
    const values = rounds.flatMap((one) => of(one) ?? []);
    return values.length === 0 ? undefined : spreadOf(values);
  };
  const served = ({ service, rows }: Round) => (rows / service.elapsedMs) * 1_000;
  const copied = ({ copy, rows }: Round) => (rows / copy.elapsedMs) * 1_000;
  return {
    clients,
    service: {
      rowsPerSecond: spread(served),
      p50Ms: spread(({ service }) => service.p50Ms).median,
      p99Ms: spread(({ service }) => service.p99Ms).median,
      processorUs: known(({ service }) => service.processorUs),
      postgresUs: known(({ service }) => service.postgresUs),
      peakMemoryMb: known(({ service }) => service.peakMemoryMb),
    },
    copy: { rowsPerSecond: spread(copied), postgresUs: known(({ copy }) => copy.postgresUs) },
    ratio: spread((one) => served(one) / copied(one)),
  };
}

function perRowUs(beforeMs: number | undefined, afterMs: number | undefined, rows: number): number | undefined {
  return beforeMs === undefined || afterMs === undefined ? undefined : ((afterMs - beforeMs) * 1_000) / rows;
}
