import { type Books, fillBooks } from "../books/books.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { startChild } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import type { ConfirmLoad } from "../load/confirm-load.ts";
import type { NeighbourPlan } from "../plan.ts";
import type { BenchServer } from "../server/bench-server.ts";
import { startService } from "../server/service.ts";
import type { ReconcileAnswers, ReconcileLoad } from "./reconcile-load.ts";
import { addBookings } from "./reconciliations.ts";

/** The time of a confirmation, alone and beside a lender that only reconciles: medians and spreads over the rounds. */
export interface NeighbourFigures {
  readonly aloneP99Ms: Spread;
  readonly besideP99Ms: Spread;
  readonly ratio: Spread;
  /** The answers to the reconciliations of all rounds, by status. */
  readonly answers: ReconcileAnswers;
}

export interface NeighbourBench {
  readonly plan: NeighbourPlan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
}

const PAYER = "PAYER";
const RECONCILER = "DAY";
const DAY_MS = 86_400_000;

/** Measures the confirmations of one lender while another lender sends nothing but reconciliations without rows. */
export async function measureNeighbour({ plan, server, onProgress }: NeighbourBench): Promise<NeighbourFigures> {
  const http = startChild(new URL("../load/confirm-load.ts", import.meta.url));
  const attacker = startChild(new URL("reconcile-load.ts", import.meta.url));
  try {
    onProgress("filling the database");
    const databaseUrl = await server.createDatabase("neighbours");
    const loans = { lenderCodes: [PAYER], perLender: plan.loans };
    const books: Books = await fillBooks(databaseUrl, [
      { loans, options: [] },
      { loans: { lenderCodes: [RECONCILER], perLender: plan.loans }, options: [] },
    ]);
    const window = { from: new Date(Date.now() - DAY_MS), to: new Date() };
    await addBookings(databaseUrl, books, { rows: plan.bookings, ...window, loans: plan.loans });
    const service = await startService({ databaseUrl, role: "server" });
    let series = 0;
    const confirm = () =>
      http.ask<LoadResult>({
        serviceUrls: [service.url],
        keys: books.keys,
        loans,
        series: `neighbour-${(series += 1)}`,
        clients: plan.clients,
        extent: { durationMs: plan.roundMs },
      } satisfies ConfirmLoad);
    const reconcile = () =>
      attacker.ask<ReconcileAnswers>({
        serviceUrl: service.url,
        key: books.keys.find(({ lenderCode }) => lenderCode === RECONCILER)!,
        connections: plan.connections,
        pauseMs: plan.pauseMs,
        durationMs: plan.roundMs,
        window: { from: window.from.toISOString(), to: window.to.toISOString() },
      } satisfies ReconcileLoad);
    try {
      onProgress("warming up");
      await confirm();
      const rounds: { readonly alone: number; readonly beside: number }[] = [];
      const answers: Record<number, number> = {};
      for (let round = 0; round < plan.rounds; round += 1) {
        onProgress(`round ${round + 1} of ${plan.rounds}`);
        await server.checkpoint();
        const alone = await confirm();
        const [beside, statuses] = await Promise.all([confirm(), reconcile()]);
        for (const [status, count] of Object.entries(statuses))
          answers[Number(status)] = (answers[Number(status)] ?? 0) + count;
        rounds.push({ alone: alone.p99Ms, beside: beside.p99Ms });
      }
      return {
        aloneP99Ms: spreadOf(rounds.map(({ alone }) => alone)),
        besideP99Ms: spreadOf(rounds.map(({ beside }) => beside)),
        ratio: spreadOf(rounds.map(({ alone, beside }) => beside / alone)),
        answers,
      };
    } finally {
      await service.stop();
      await server.dropDatabase("neighbours");
    }
  } finally {
    await Promise.all([http.stop(), attacker.stop()]);
  }
}
