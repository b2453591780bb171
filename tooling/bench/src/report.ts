import type { BatchBudget } from "./budget.ts";
import type { ConfirmationFigures } from "./confirmations.ts";
import type { DeliveryFigures } from "./deliveries.ts";
import type { Machine } from "./machine.ts";
import type { Plan } from "./plan.ts";
import type { Spread } from "./statistics.ts";

/** All that a run has measured; `--json` prints it as it is. */
export interface Report {
  readonly machine: Machine;
  readonly plan: Plan;
  readonly confirmations: readonly ConfirmationFigures[];
  readonly deliveries: DeliveryFigures;
  readonly batches: readonly BatchBudget[];
}

const CONFIRMATION_COLUMNS =
  "clients,service/s,p50 ms,p99 ms,CPU µs,a batch,statement/s,p50 ms,p99 ms,CPU µs,ratio,others";
const DELIVERY_COLUMNS = "events/s,posts/s,ratio,others,commit to arrival p50 ms,p99 ms";
const BATCH_COLUMNS = "confirmations,round trips,statements";

/** The report for people. Only its ratios carry over to another machine. */
export function reportText({ machine, plan, confirmations, deliveries, batches }: Report): string {
  return [
    `${machine.processors} × ${machine.model}, ${machine.memoryGiB} GiB, ${machine.platform}`,
    `Node ${machine.node}, PostgreSQL ${machine.postgres}, durable commits; load before the run ${machine.loadBefore}`,
    "",
    `Signed confirmations over HTTP, beside one data-modifying statement each over plain pg; ${plan.rounds} rounds in turn`,
    table(CONFIRMATION_COLUMNS, confirmations.map(confirmationRow)),
    "",
    `Delivered events, beside a bare loop of undici posts; ${plan.deliveryRounds} rounds of ${plan.events} events of ${plan.eventLoans} loans`,
    table(DELIVERY_COLUMNS, [deliveryRow(deliveries)]),
    "",
    "A batch of confirmations on the wire to PostgreSQL",
    table(
      BATCH_COLUMNS,
      batches.map(({ confirmations, roundTrips, statements }) => [confirmations, roundTrips, statements].map(String)),
    ),
    "",
    "Medians; a ratio is service / limit, with its smallest and largest round. others: processors busy with other processes.",
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

function deliveryRow({
  eventsPerSecond,
  postsPerSecond,
  ratio,
  othersBusy,
  commitToArrival,
}: DeliveryFigures): string[] {
  const rates = [whole(eventsPerSecond.median), whole(postsPerSecond.median), ratioText(ratio), busyText(othersBusy)];
  return [...rates, commitToArrival.p50Ms.toFixed(1), commitToArrival.p99Ms.toFixed(1)];
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}

function ratioText({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
}

function busyText(processors: number | undefined): string {
  return processors === undefined ? "" : processors.toFixed(2);
}

/** Columns as wide as their widest cell, numbers to the right. */
function table(columns: string, body: readonly (readonly string[])[]): string {
  const rows = [columns.split(","), ...body];
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, cell.length)),
    [],
  );
  return rows.map((row) => row.map((cell, column) => cell.padStart(widths[column]!)).join("  ")).join("\n");
}
