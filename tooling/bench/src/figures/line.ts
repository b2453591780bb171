import type { Spread } from "./statistics.ts";
import { ratioText } from "./text-table.ts";

/** One line of the table of all subjects. */
export interface Line {
  readonly figure: string;
  /** The service's figure, with its unit. */
  readonly ours: string;
  /**
   * The figure that the service's figure is compared with, with the name of the program or database that it belongs to.
   */
  readonly beside: string;
  /**
   * Usually the service's figure divided by the figure beside it, in the same round: the median, and the smallest and
   * the largest round.
   */
  readonly ratio: string;
  readonly rounds: number;
  readonly aim?: Aim;
}

/** The target of a measured value, and whether the median meets it. */
export interface Aim {
  readonly text: string;
  readonly isMet: boolean;
}

export function atLeast(least: number, { median }: Spread): Aim {
  return { text: `≥ ${least}`, isMet: median >= least };
}

export function atMost(most: number, { median }: Spread, unit = ""): Aim {
  return { text: `≤ ${most}${unit}`, isMet: median <= most };
}

/** Makes a line with the ratio of two rates or times. */
export function ratioLine(
  line: Omit<Line, "ratio" | "aim"> & { readonly ratio: Spread },
  aim?: (ratio: Spread) => Aim,
): Line {
  return { ...line, ratio: ratioText(line.ratio), ...(aim && { aim: aim(line.ratio) }) };
}
