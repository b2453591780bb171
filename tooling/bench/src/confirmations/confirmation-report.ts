import type { BatchBudget } from "./budget.ts";
import type { ConfirmationFigures, Side } from "./confirmations.ts";
import { atLeast, atMost, type Line, ratioLine } from "../figures/line.ts";
import type { ConfirmationPlan } from "../plan.ts";
import { busyText, milliseconds, ratioText, table, whole } from "../figures/text-table.ts";

/**
 * How fast the service, the fastest possible program and the usual solution confirm payments, and how many round trips
 * to PostgreSQL a batch of the service needs.
 */
export interface ConfirmationReport {
  readonly figures: readonly ConfirmationFigures[];
  readonly batches: readonly BatchBudget[];
}

const COLUMNS =
  "clients,loans,side,a second,p50 ms,p99 ms,CPU µs,load generator's CPU µs,a batch,service ÷ side,others";
const BATCH_COLUMNS = "confirmations,round trips,statements";
const P99_MOST_MS = 18;
/**
 * The service's rate that is aimed at, by number of clients, relative to the fastest possible program, which runs one
 * SQL statement per payment. Above 1 is possible, because the service writes many payments in one batch.
 */
const LEAST_OF_LIMIT: Readonly<Record<number, number>> = { 32: 0.8, 128: 1.2 };
const LEAST_OF_HANDLER = 3;

/** The report's tables as text. */
export function confirmationText({ rounds }: ConfirmationPlan, { figures, batches }: ConfirmationReport): string {
  return [
    "Signed confirmations over HTTP, compared with plain pg that runs one SQL statement per payment," +
      ` and with an Express handler of awaited queries; ${rounds} rounds in turn`,
    table(COLUMNS, figures.flatMap(confirmationRows)),
    "",
    "A batch of confirmations on the wire to PostgreSQL",
    table(
      BATCH_COLUMNS,
      batches.map(({ confirmations, roundTrips, statements }) => [confirmations, roundTrips, statements].map(String)),
    ),
  ].join("\n");
}

function confirmationRows(figures: ConfirmationFigures): string[][] {
  const { clients, loans, service, statement, handler, ratio, toHandler, batchSize, othersBusy } = figures;
  const named = [String(clients), loans];
  return [
    [...named, "service", ...sideCells(service), batchSize.toFixed(1), "", busyText(othersBusy)],
    [...named, "statement", ...sideCells(statement), "", ratioText(ratio), ""],
    [...named, "handler", ...sideCells(handler), "", ratioText(toHandler), ""],
  ];
}

function sideCells({ perSecond, p50Ms, p99Ms, processorUs, generatorUs }: Side): string[] {
  const processor = processorUs === undefined ? "" : whole(processorUs);
  return [whole(perSecond.median), p50Ms.median.toFixed(1), p99Ms.median.toFixed(1), processor, whole(generatorUs)];
}

/**
 * Returns the report's lines. For each number of clients the service is compared with the fastest possible program and
 * with the usual solution. For 32 clients one more line has the p99.
 */
export function confirmationLines({ rounds }: ConfirmationPlan, { figures }: ConfirmationReport): Line[] {
  return figures.flatMap(({ clients, loans, service, statement, handler, ratio, toHandler }): Line[] => {
    const figure = `${clients} ${clients === 1 ? "client" : "clients"}, ${loans} ${loans === "one" ? "loan" : "loans"}`;
    const ours = `${whole(service.perSecond.median)}/s`;
    const least = loans === "many" ? LEAST_OF_LIMIT[clients] : undefined;
    const limit = `one statement each: ${whole(statement.perSecond.median)}/s`;
    const rival = `handler of awaited queries: ${whole(handler.perSecond.median)}/s`;
    const hasAim = loans === "many" && clients >= 32;
    return [
      ratioLine(
        { figure, ours, beside: limit, ratio, rounds },
        least === undefined ? undefined : (spread) => atLeast(least, spread),
      ),
      ratioLine(
        { figure, ours, beside: rival, ratio: toHandler, rounds },
        hasAim ? (spread) => atLeast(LEAST_OF_HANDLER, spread) : undefined,
      ),
      ...(clients === 32 ? [p99Line(figure, service, handler, rounds)] : []),
    ];
  });
}

function p99Line(figure: string, service: Side, handler: Side, rounds: number): Line {
  return {
    figure: `${figure}, p99`,
    ours: `${milliseconds(service.p99Ms)} ms`,
    beside: `handler of awaited queries: ${handler.p99Ms.median.toFixed(1)} ms`,
    ratio: "",
    rounds,
    aim: atMost(P99_MOST_MS, service.p99Ms, " ms"),
  };
}
