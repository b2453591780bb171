import { type Line, ratioLine } from "../figures/line.ts";
import { rateText, ratioText, table, whole } from "../figures/text-table.ts";
import type { ReconciliationPlan } from "../plan.ts";
import type { ReconciliationFigures } from "./reconciliations.ts";

const COLUMNS = "rows against bookings,command rows/s,peak MB,COPY rows/s,ratio";

/** The report as a table. */
export function reconciliationText({ rounds }: ReconciliationPlan, figures: readonly ReconciliationFigures[]): string {
  return [
    `payment reconcile, from the start of the process, compared with COPY of the rows and bookings into the table that orders` +
      ` them; ${rounds} rounds in turn`,
    table(
      COLUMNS,
      figures.map(({ rows, command, copyRowsPerSecond, ratio }) => [
        whole(rows),
        rateText(command.rowsPerSecond),
        command.peakMemoryMb ? whole(command.peakMemoryMb.median) : "",
        rateText(copyRowsPerSecond),
        ratioText(ratio),
      ]),
    ),
  ].join("\n");
}

/** Returns the report's lines: the rate beside COPY, and the peak memory of the largest file beside the smallest. */
export function reconciliationLines({ rounds }: ReconciliationPlan, figures: readonly ReconciliationFigures[]): Line[] {
  const rates = figures.map(({ rows, command, copyRowsPerSecond, ratio }) =>
    ratioLine({
      figure: `rows of a file reconciled, ${whole(rows)} against as many bookings`,
      ours: `${whole(command.rowsPerSecond.median)}/s`,
      beside: `COPY of both sides from the server's disk: ${whole(copyRowsPerSecond.median)}/s`,
      ratio,
      rounds,
    }),
  );
  const [smallest, largest] = [figures[0], figures.at(-1)];
  const [before, after] = [smallest?.command.peakMemoryMb, largest?.command.peakMemoryMb];
  if (!smallest || !largest || !before || !after || smallest === largest) return rates;
  const memory = {
    figure: `peak memory of a reconciliation of ${whole(largest.rows)} rows`,
    ours: `${whole(after.median)} MB`,
    beside: `${whole(smallest.rows)} rows: ${whole(before.median)} MB`,
    ratio: (after.median / before.median).toFixed(2),
    rounds,
  };
  return [...rates, memory];
}
