import { atLeast, type Line, ratioLine } from "../figures/line.ts";
import type { ProcessesPlan } from "../plan.ts";
import type { ProcessesFigures } from "./processes.ts";
import { busyText, rateText, ratioText, table, whole } from "../figures/text-table.ts";

const COLUMNS = "processes,number,a second,÷ one,others";
const LEAST_OF_ONE = 0.9;
const WORK = { server: "confirmations", worker: "deliveries" } as const;

/** The report as a table. */
export function processesText({ rounds, clients }: ProcessesPlan, figures: readonly ProcessesFigures[]): string {
  return [
    `Confirmations of ${clients} clients by several servers, and deliveries by several workers, on one PostgreSQL; ${rounds} rounds in turn`,
    table(
      COLUMNS,
      figures.map(({ role, processes, perSecond, ratio, othersBusy }) => [
        `${role}s`,
        String(processes),
        rateText(perSecond),
        ratioText(ratio),
        busyText(othersBusy),
      ]),
      "left",
    ),
  ].join("\n");
}

/**
 * Returns the report's lines: the rate of several processes divided by the rate of one process. The aim is that several
 * processes are not slower than one, even on a machine with few processors.
 */
export function processesLines({ rounds }: ProcessesPlan, figures: readonly ProcessesFigures[]): Line[] {
  return figures
    .filter(({ processes }) => processes > 1)
    .map(({ role, processes, perSecond, ratio }) => {
      const one = figures.find((other) => other.role === role && other.processes === 1)!;
      return ratioLine(
        {
          figure: `${WORK[role]} by ${processes} ${role}s`,
          ours: `${whole(perSecond.median)}/s`,
          beside: `by one: ${whole(one.perSecond.median)}/s`,
          ratio,
          rounds,
        },
        (spread) => atLeast(LEAST_OF_ONE, spread),
      );
    });
}
