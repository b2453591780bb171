import { type Line, ratioLine } from "../figures/line.ts";
import { ratioText } from "../figures/text-table.ts";
import type { NeighbourPlan } from "../plan.ts";
import type { NeighbourFigures } from "./neighbour.ts";

/** The report as text. */
export function neighbourText(
  { rounds, connections }: NeighbourPlan,
  { aloneP99Ms, besideP99Ms, ratio, answers }: NeighbourFigures,
): string {
  const counts = Object.entries(answers).map(([status, count]) => `${count} of ${status}`);
  return [
    `confirmations beside a lender that only reconciles, over ${connections} connections; ${rounds} rounds in turn`,
    `  p99 alone ${milliseconds(aloneP99Ms.median)}, beside ${milliseconds(besideP99Ms.median)}, ratio ${ratioText(ratio)}`,
    `  answers to the reconciliations: ${counts.join(", ")}`,
  ].join("\n");
}

/** Returns the report's line. */
export function neighbourLines({ rounds }: NeighbourPlan, figures: NeighbourFigures): Line[] {
  return [
    ratioLine({
      figure: "p99 of a confirmation beside a lender that only reconciles",
      ours: milliseconds(figures.besideP99Ms.median),
      beside: `without that lender: ${milliseconds(figures.aloneP99Ms.median)}`,
      ratio: figures.ratio,
      rounds,
    }),
  ];
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}
