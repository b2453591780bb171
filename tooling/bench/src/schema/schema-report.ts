import { atMost, type Line, ratioLine } from "../figures/line.ts";
import { ratioText, table, whole } from "../figures/text-table.ts";
import type { SchemaPlan } from "../plan.ts";
import type { VariantCost } from "./schema-cost.ts";

const MOST_TO_LEAN = 1.6;

/** The report's table as text. */
export function schemaText({ rounds, payments }: SchemaPlan, costs: readonly VariantCost[]): string {
  return [
    "PostgreSQL's processor time for a payment that is booked by one SQL statement;" +
      ` ${rounds} rounds of ${payments} payments`,
    table(
      "schema,µs per payment,÷ lean schema,WAL bytes per payment",
      costs.map(({ name, processorUs, toLean, walBytes }) => [
        name,
        whole(processorUs.median),
        ratioText(toLean),
        whole(walBytes),
      ]),
      "left",
    ),
  ].join("\n");
}

/** Returns a line for the service's schema, compared with the lean schema. */
export function schemaLines({ rounds }: SchemaPlan, costs: readonly VariantCost[]): Line[] {
  const [ours, lean] = [costs[0]!, costs.at(-1)!];
  return [
    ratioLine(
      {
        figure: "processor time of the statement of a payment",
        ours: `${whole(ours.processorUs.median)} µs`,
        beside: `${lean.name}: ${whole(lean.processorUs.median)} µs`,
        ratio: ours.toLean,
        rounds,
      },
      (ratio) => atMost(MOST_TO_LEAN, ratio),
    ),
  ];
}
