import type { Spread } from "./statistics.ts";
import { ratioText } from "./text-table.ts";

/** One figure of the table of all subjects. */
export interface Line {
  readonly figure: string;
  /** What the service does, with its unit. */
  readonly ours: string;
  /** What it stands beside. */
  readonly beside: string;
  /** As a rule the ratio of the two, of the same round: the middle round, the smallest and the largest. */
  readonly ratio: string;
  readonly rounds: number;
  readonly aim?: Aim;
}

/** What a figure should be, and whether its middle round was. */
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

/** A line whose ratio is one of two rates or times. */
export function ratioLine(
  line: Omit<Line, "ratio" | "aim"> & { readonly ratio: Spread },
  aim?: (ratio: Spread) => Aim,
): Line {
  return { ...line, ratio: ratioText(line.ratio), ...(aim && { aim: aim(line.ratio) }) };
}
