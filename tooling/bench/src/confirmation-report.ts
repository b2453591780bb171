import type { BatchBudget } from "./budget.ts";
import type { ConfirmationFigures } from "./confirmations.ts";
import type { ConfirmationPlan } from "./plan.ts";
import { busyText, ratioText, table, whole } from "./text-table.ts";

/** Confirmed payments beside their limit, and what a batch of them asks of PostgreSQL. */
export interface ConfirmationReport {
  readonly figures: readonly ConfirmationFigures[];
  readonly batches: readonly BatchBudget[];
}

const COLUMNS = "clients,service/s,p50 ms,p99 ms,CPU µs,a batch,statement/s,p50 ms,p99 ms,CPU µs,ratio,others";
const BATCH_COLUMNS = "confirmations,round trips,statements";

/** Two tables for people. */
export function confirmationText({ rounds }: ConfirmationPlan, { figures, batches }: ConfirmationReport): string {
  return [
    `Signed confirmations over HTTP, beside one data-modifying statement each over plain pg; ${rounds} rounds in turn`,
    table(COLUMNS, figures.map(confirmationRow)),
    "",
    "A batch of confirmations on the wire to PostgreSQL",
    table(
      BATCH_COLUMNS,
      batches.map(({ confirmations, roundTrips, statements }) => [confirmations, roundTrips, statements].map(String)),
    ),
  ].join("\n");
}

function confirmationRow({ clients, service, statement, ratio, batchSize, othersBusy }: ConfirmationFigures): string[] {
  const [serviceCells, statementCells] = [service, statement].map((side) => [
    whole(side.perSecond.median),
    side.p50Ms.toFixed(1),
    side.p99Ms.toFixed(1),
    side.processorUs === undefined ? "" : whole(side.processorUs),
  ]);
  const cells = [String(clients), ...serviceCells!, batchSize.toFixed(1), ...statementCells!];
  return [...cells, ratioText(ratio), busyText(othersBusy)];
}
