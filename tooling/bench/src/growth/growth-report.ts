import { type Cost, type GrowthReport, sizeText } from "./growth.ts";
import { atMost, type Line, ratioLine } from "../figures/line.ts";
import type { GrowthPlan } from "../plan.ts";
import { busyText, rateText, ratioText, table, whole } from "../figures/text-table.ts";

const COLUMNS = "database,MB,operation,a second,in the smallest,time ÷ smallest,CPU ÷ smallest,others";
const MOST_OF_SMALLEST = 1.2;
const OPERATIONS = ["confirmation", "delivery"] as const;

/** The report as a table. */
export function growthText({ rounds }: GrowthPlan, { smallest, figures }: GrowthReport): string {
  const rows = figures.flatMap(({ size, megabytes, othersBusy, ...costs }) =>
    OPERATIONS.map((operation) => [
      sizeText(size),
      whole(megabytes),
      operation,
      rateText(costs[operation].perSecond),
      rateText(costs[operation].smallestPerSecond),
      ratioText(costs[operation].time),
      processorText(costs[operation]),
      busyText(othersBusy),
    ]),
  );
  const title = `What confirmations and deliveries cost in larger databases, compared with ${sizeText(smallest)} of one lender`;
  return [`${title}; ${rounds} rounds in turn`, table(COLUMNS, rows, "left")].join("\n");
}

function processorText({ processor }: Cost): string {
  return processor === undefined ? "" : ratioText(processor);
}

/** Returns the report's lines: the time per operation, relative to the time in the smallest database. */
export function growthLines({ rounds }: GrowthPlan, { smallest, figures }: GrowthReport): Line[] {
  return figures.flatMap(({ size, ...costs }) =>
    OPERATIONS.map((operation) => {
      const { perSecond, smallestPerSecond, time } = costs[operation];
      return ratioLine(
        {
          figure: `time of a ${operation}, ${sizeText(size)}`,
          ours: `${whole(perSecond.median)}/s`,
          beside: `${sizeText(smallest)}: ${whole(smallestPerSecond.median)}/s`,
          ratio: time,
          rounds,
        },
        (ratio) => atMost(MOST_OF_SMALLEST, ratio),
      );
    }),
  );
}
