import { fillBooks } from "../books/books.ts";
import { type Child, startChild } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import type { ConfirmLoad } from "../load/confirm-load.ts";
import type { GivenServer } from "../server/given-server.ts";
import { COMMISSION_PERCENT, type Loans } from "../load/payment.ts";
import type { ConfirmationPlan } from "../plan.ts";
import { processorMs } from "../figures/processor-time.ts";
import { type Service, startService } from "../server/service.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { busyText, ratioText, table, whole } from "../figures/text-table.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";

/**
 * How fast confirmations are on one existing server (`DATABASE_URL` or `--beside`), for a number of lenders and
 * clients: medians over the rounds.
 */
export interface GivenSide {
  readonly perSecond: Spread;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  /** Microseconds of processor time per confirmation, of the service and the database. */
  readonly processorUs: Spread | undefined;
  readonly batchSize: number;
}

export interface GivenConfirmationFigures {
  readonly lenders: number;
  readonly clients: number;
  /** One entry per server, in the order of the servers. */
  readonly sides: readonly GivenSide[];
  /** The ratio of the first server's rate to the second's in the same round; undefined with one server. */
  readonly ratio: Spread | undefined;
  readonly othersBusy: number | undefined;
}

interface Place {
  readonly server: GivenServer;
  readonly service: Service;
  readonly http: Child;
  readonly keys: ConfirmLoad["keys"];
}

interface Measured extends LoadResult {
  readonly processorUs: number | undefined;
  readonly batches: number;
}

/**
 * Measures confirmations over HTTP. A service on each of the servers is measured in turn, first with one lender and
 * then with all lenders.
 */
export async function measureGivenConfirmations(
  servers: readonly GivenServer[],
  plan: ConfirmationPlan,
  onProgress: (message: string) => void,
): Promise<GivenConfirmationFigures[]> {
  const lenderCodes = Array.from({ length: plan.lenders }, (_, index) => `PAID${index + 1}`);
  const all: Loans = { lenderCodes, perLender: plan.loansPerLender };
  const places: Place[] = [];
  try {
    for (const server of servers) {
      onProgress(`filling a database on ${server.topology}`);
      places.push(await openPlace(server, all));
    }
    onProgress("warming up");
    await round(places, all, Math.max(...plan.clients), plan.warmUpMs);
    const figures: GivenConfirmationFigures[] = [];
    for (const loans of [{ ...all, lenderCodes: lenderCodes.slice(0, 1) }, all]) {
      for (const clients of plan.clients) {
        const lenders = loans.lenderCodes.length;
        onProgress(`confirmations of ${clients} clients, ${lenders} ${lenders === 1 ? "lender" : "lenders"}`);
        for (const { server } of places) await server.checkpoint();
        await round(places, loans, clients, plan.roundMs / 2);
        const pids = [process.pid, ...servers.flatMap((server) => server.pids)];
        const watched = await leastDisturbed(plan.rounds, pids, () => round(places, loans, clients, plan.roundMs));
        const rounds = watched.map((one) => one.round);
        const [first, second] = servers.map((_, index) => rounds.map((sides) => sides[index]!));
        figures.push({
          lenders,
          clients,
          sides: [first!, ...(second ? [second] : [])].map(sideOf),
          ratio: second && spreadOf(first!.map(({ perSecond }, index) => perSecond / second[index]!.perSecond)),
          othersBusy: watched.at(-1)?.othersBusy,
        });
      }
    }
    return figures;
  } finally {
    await Promise.all(places.flatMap(({ service, http }) => [service.stop(), http.stop()]));
  }
}

async function openPlace(server: GivenServer, loans: Loans): Promise<Place> {
  const databaseUrl = await server.createDatabase();
  const books = await fillBooks(databaseUrl, [{ loans, options: [`--commission-percent=${COMMISSION_PERCENT}`] }]);
  await server.analyze(databaseUrl);
  const service = await startService({ databaseUrl, role: "server" });
  return { server, service, http: startChild(new URL("../load/confirm-load.ts", import.meta.url)), keys: books.keys };
}

let rounds = 0;

/** Measures once on each server. Every other round begins with the last server. */
async function round(places: readonly Place[], loans: Loans, clients: number, durationMs: number): Promise<Measured[]> {
  rounds += 1;
  const measured = new Map<Place, Measured>();
  for (const place of rounds % 2 === 0 ? places : places.toReversed()) {
    const { server, service, http, keys } = place;
    const load: ConfirmLoad = {
      serviceUrls: [service.url],
      keys,
      loans,
      series: `given-${rounds}`,
      clients,
      extent: { durationMs },
    };
    const pids = [service.pid, ...server.pids];
    const [usedBefore, batchesBefore] = [processorMs(pids), await batchesOf(service)];
    const result = await http.ask<LoadResult>(load);
    const [usedAfter, batchesAfter] = [processorMs(pids), await batchesOf(service)];
    const processorUs =
      server.pids.length === 0 || usedBefore === undefined || usedAfter === undefined
        ? undefined
        : ((usedAfter - usedBefore) * 1_000) / result.completed;
    measured.set(place, { ...result, processorUs, batches: batchesAfter - batchesBefore });
  }
  return places.map((place) => measured.get(place)!);
}

function batchesOf(service: Service): Promise<number> {
  return service.metric("collections_confirmation_batches_total");
}

function sideOf(measured: readonly Measured[]): GivenSide {
  const processor = measured.flatMap(({ processorUs }) => processorUs ?? []);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    perSecond: spreadOf(measured.map(({ perSecond }) => perSecond)),
    p50Ms: spreadOf(measured.map(({ p50Ms }) => p50Ms)),
    p99Ms: spreadOf(measured.map(({ p99Ms }) => p99Ms)),
    processorUs: processor.length === 0 ? undefined : spreadOf(processor),
    batchSize: sum(measured.map(({ completed }) => completed)) / sum(measured.map(({ batches }) => batches)),
  };
}

/** The report as a table with a row for each server. */
export function givenConfirmationText(
  servers: readonly Pick<GivenServer, "topology">[],
  { rounds: number }: ConfirmationPlan,
  figures: readonly GivenConfirmationFigures[],
): string {
  const rows = figures.flatMap(({ lenders, clients, sides, ratio, othersBusy }) =>
    sides.map(({ perSecond, p50Ms, p99Ms, processorUs, batchSize }, index) => [
      String(lenders),
      String(clients),
      nameOf(index),
      whole(perSecond.median),
      p50Ms.median.toFixed(1),
      p99Ms.median.toFixed(1),
      processorUs === undefined ? "" : whole(processorUs.median),
      batchSize.toFixed(1),
      index === 0 && ratio !== undefined ? ratioText(ratio) : "",
      index === 0 ? busyText(othersBusy) : "",
    ]),
  );
  return [
    `Signed confirmations over HTTP; ${number} rounds in turn`,
    ...servers.map(({ topology }, index) => `${nameOf(index)}: ${topology}`),
    table("lenders,clients,server,a second,p50 ms,p99 ms,CPU µs,a batch,first ÷ second,others", rows),
  ].join("\n");
}

function nameOf(index: number): string {
  return index === 0 ? "first" : "second";
}
