import type { ImportFigures } from "./imports.ts";
import { type Line, ratioLine } from "../figures/line.ts";
import type { ImportPlan } from "../plan.ts";
import type { Spread } from "../figures/statistics.ts";
import { busyText, rateText, ratioText, table, whole } from "../figures/text-table.ts";

const COLUMNS =
  "requests at once,service rows/s,p50 ms,p99 ms,CPU µs,PostgreSQL's,peak MB,COPY rows/s,PostgreSQL's CPU µs,ratio,others";

/** The report as a table. */
export function importText({ rows, rounds }: ImportPlan, figures: readonly ImportFigures[]): string {
  return [
    `New cases over signed HTTP, ${whole(rows)} rows, 1,000 per request, compared with COPY of all rows that the import writes` +
      ` into the same tables; ${rounds} rounds in turn`,
    table(COLUMNS, figures.map(importRow)),
  ].join("\n");
}

function importRow({ clients, service, copy, ratio, othersBusy }: ImportFigures): string[] {
  return [
    String(clients),
    rateText(service.rowsPerSecond),
    whole(service.p50Ms),
    whole(service.p99Ms),
    known(service.processorUs),
    known(service.postgresUs),
    known(service.peakMemoryMb),
    rateText(copy.rowsPerSecond),
    known(copy.postgresUs),
    ratioText(ratio),
    busyText(othersBusy),
  ];
}

function known(spread: Spread | undefined): string {
  return spread === undefined ? "" : whole(spread.median);
}

/**
 * Returns the report's lines, which compare the service's import with PostgreSQL's COPY of the same rows. COPY is the
 * fastest possible way to write them: it validates nothing.
 */
export function importLines({ rounds }: ImportPlan, figures: readonly ImportFigures[]): Line[] {
  return figures.map(({ clients, service, copy, ratio }) =>
    ratioLine({
      figure: `rows of new cases, ${clients} at once`,
      ours: `${whole(service.rowsPerSecond.median)}/s`,
      beside: `COPY from the server's disk: ${whole(copy.rowsPerSecond.median)}/s`,
      ratio,
      rounds,
    }),
  );
}
