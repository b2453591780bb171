import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
import type { BenchServer } from "../server/bench-server.ts";
import { startCountingProxy } from "../load/counting-proxy.ts";
import { addDelivered, addWaiting, nothingWaits, openDeliveries } from "./delivered-rows.ts";
import { pollUntil } from "./sender.ts";
import { startService } from "../server/service.ts";
import { quantile, type Spread, spreadOf } from "../figures/statistics.ts";
import type { BoundStatement } from "../load/wire.ts";

/**
 * How long a worker's lease statement takes in a table with few delivered rows (`few`) and in a table with many
 * (`many`).
 */
export interface LeaseGrowth {
  readonly few: number;
  readonly many: number;
  /** The number of deliveries that one lease takes. */
  readonly leased: number;
  readonly figures: readonly LeaseFigures[];
}

/**
 * The figures for one state of the planner's statistics. `outdated`: the statistics are from the time when the table
 * had few rows.
 */
export interface LeaseFigures {
  readonly statistics: "outdated" | "fresh";
  readonly fewMs: Spread;
  readonly manyMs: Spread;
  /** `manyMs` divided by `fewMs`, in the same round. */
  readonly ratio: Spread;
  /** PostgreSQL pages that one lease reads. */
  readonly pages: { readonly few: number; readonly many: number };
  /** The output of EXPLAIN (ANALYZE) for the generic plan and the table with many rows. */
  readonly plan: readonly string[];
}

export interface LeaseGrowthBench {
  readonly server: BenchServer;
  /** The name of a database that has the tables and the lender, but no deliveries. */
  readonly template: string;
  readonly lenderId: string;
  readonly few: number;
  readonly many: number;
  readonly rounds: number;
  readonly onProgress: (message: string) => void;
}

const LEASE = "webhooks.lease";
const LEASES_A_ROUND = 40;
/** PostgreSQL tries custom plans for the first executions before it chooses a generic plan. */
const LEASES_BEFORE = 10;
/** How long to wait after the last event has arrived. In this time the worker looks for waiting events once more. */
const LAST_LOOK_MS = 250;
const WAITING = { events: 2_000, loans: 1_000 };

/**
 * Measures whether leases become slower when the delivery table grows. Records the lease statement that a worker sends,
 * fills one database with few delivered rows and one with many, and times the statement in both, in turn.
 */
export async function measureLeaseGrowth(bench: LeaseGrowthBench): Promise<LeaseGrowth> {
  const { server, template, lenderId, few, many, rounds, onProgress } = bench;
  onProgress("the lease: recording the statement of a worker");
  const lease = await seenLease(bench);
  const [small, large] = [
    await openDeliveries(await server.createDatabase("delivered_few", template)),
    await openDeliveries(await server.createDatabase("delivered_many", template)),
  ];
  for (const client of [small, large]) {
    await addWaiting(client, lenderId, WAITING);
    await addDelivered(client, lenderId, few);
    await client.query("analyze");
  }
  onProgress(`the lease: adding ${many.toLocaleString("en")} delivered rows`);
  await addDelivered(large, lenderId, many - few);
  await server.checkpoint();
  const sides = { small, large, lease, rounds };
  onProgress("the lease: with outdated statistics");
  const outdated = await measured("outdated", sides);
  onProgress("the lease: with fresh statistics");
  await large.query("analyze");
  const fresh = await measured("fresh", sides);
  const leased = await timeLease(large, lease);
  await Promise.all([small.end(), large.end()]);
  return { few, many, leased: leased.rows, figures: [outdated, fresh] };
}

/**
 * Lets a worker use all its slots to deliver a backlog. Returns the worker's last lease statement, as seen on the wire.
 */
async function seenLease({ server, template, lenderId }: LeaseGrowthBench): Promise<BoundStatement> {
  const databaseUrl = await server.createDatabase("leasing", template);
  const client = await openDeliveries(databaseUrl);
  await addWaiting(client, lenderId, WAITING);
  const proxy = await startCountingProxy(databaseUrl);
  const worker = await startService({ databaseUrl: proxy.url, directUrl: databaseUrl, role: "worker" });
  try {
    await pollUntil(() => nothingWaits(client), "The worker did not deliver all waiting events in time.");
    await delay(LAST_LOOK_MS);
    const lease = proxy.latest(LEASE);
    if (!lease) throw new Error(`The worker sent no statement named ${LEASE}.`);
    return lease;
  } finally {
    await client.end();
    await worker.stop();
    await proxy.close();
  }
}

interface Sides {
  readonly small: Client;
  readonly large: Client;
  readonly lease: BoundStatement;
  readonly rounds: number;
}

async function measured(statistics: LeaseFigures["statistics"], sides: Sides): Promise<LeaseFigures> {
  const { small, large, lease, rounds } = sides;
  for (const client of [small, large]) await client.query("discard plans");
  await leaseRound(sides, LEASES_BEFORE);
  const times: { fewMs: number; manyMs: number }[] = [];
  while (times.length < rounds) times.push(await leaseRound(sides, LEASES_A_ROUND));
  const [fewPlan, manyPlan] = [await explained(small, lease), await explained(large, lease)];
  return {
    statistics,
    fewMs: spreadOf(times.map(({ fewMs }) => fewMs)),
    manyMs: spreadOf(times.map(({ manyMs }) => manyMs)),
    ratio: spreadOf(times.map(({ fewMs, manyMs }) => manyMs / fewMs)),
    pages: { few: pagesOf(fewPlan), many: pagesOf(manyPlan) },
    plan: manyPlan,
  };
}

/** Times leases in the small and in the large database, in turn. Returns the median time for each of the two. */
async function leaseRound({ small, large, lease }: Sides, leases: number): Promise<{ fewMs: number; manyMs: number }> {
  const [few, many]: [number[], number[]] = [[], []];
  for (let count = 0; count < leases; count += 1) {
    few.push((await timeLease(small, lease)).elapsedMs);
    many.push((await timeLease(large, lease)).elapsedMs);
  }
  const [fewMs, manyMs] = [few, many].map((times) =>
    quantile(
      times.toSorted((a, b) => a - b),
      0.5,
    ),
  );
  return { fewMs: fewMs!, manyMs: manyMs! };
}

/** Times a lease and rolls it back, so that each lease finds the same rows. */
async function timeLease(client: Client, lease: BoundStatement): Promise<{ elapsedMs: number; rows: number }> {
  await client.query("begin");
  const startedAt = performance.now();
  const { rowCount } = await client.query({ name: lease.name, text: lease.text, values: [...lease.values] });
  const elapsedMs = performance.now() - startedAt;
  await client.query("rollback");
  if (!rowCount) throw new Error("A lease took no delivery, although events wait.");
  return { elapsedMs, rows: rowCount };
}

async function explained(client: Client, { text, values }: BoundStatement): Promise<string[]> {
  const literals = values.map((value) => (value === null ? "null" : client.escapeLiteral(value)));
  await client.query("begin");
  await client.query("set local plan_cache_mode = force_generic_plan");
  await client.query(`prepare explained as ${text}`);
  const { rows } = await client.query<{ "QUERY PLAN": string }>(
    `explain (analyze, buffers) execute explained (${literals.join(", ")})`,
  );
  await client.query("deallocate explained");
  await client.query("rollback");
  return rows.map((row) => row["QUERY PLAN"]);
}

/** Returns the number of pages that the whole statement read, from the first line with "Buffers:" in the plan. */
function pagesOf(plan: readonly string[]): number {
  const buffers = plan.find((line) => line.includes("Buffers:")) ?? "";
  return [...buffers.matchAll(/(?:hit|read)=(\d+)/g)].reduce((pages, [, count]) => pages + Number(count), 0);
}
