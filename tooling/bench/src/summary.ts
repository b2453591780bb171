import type { Line } from "./figures/line.ts";
import type { Machine } from "./figures/machine.ts";

/** The lines of one subject, and the load of the machine before the subject was measured. */
export interface SummaryPart {
  readonly subject: string;
  readonly lines: readonly Line[];
  /** The load average of the last minute before the subject was measured. */
  readonly loadBefore: number;
}

const COLUMNS = ["Subject", "Figure", "Service", "Beside", "Ratio, median (min–max)", "Rounds", "Aim", "Load"];

/** The table of all subjects in Markdown. */
export function summaryText(machine: Machine, parts: readonly SummaryPart[]): string {
  const rows = parts.flatMap(({ subject, lines, loadBefore }) =>
    lines.map(({ figure, ours, beside, ratio, rounds, aim }) => [
      subject,
      figure,
      ours,
      beside,
      ratio,
      String(rounds),
      aim === undefined ? "" : `${aim.text}${aim.isMet ? "" : ", missed"}`,
      loadBefore.toFixed(1),
    ]),
  );
  const widths = COLUMNS.map((column, index) => Math.max(column.length, ...rows.map((row) => row[index]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, index) => cell.padEnd(widths[index]!)).join(" | ")} |`;
  return [
    machineText(machine),
    "",
    line(COLUMNS),
    line(widths.map((width) => "-".repeat(width))),
    ...rows.map(line),
    "",
    "Ratio: the service's figure divided by the figure beside it, in the same round. Load: the load average of the minute before the subject.",
  ].join("\n");
}

/** Two lines that describe the machine, without which the figures mean nothing. */
export function machineText({ processors, model, memoryGiB, platform, node, postgres, fsyncUs }: Machine): string {
  return [
    `${processors} × ${model}, ${memoryGiB} GiB, ${platform}`,
    `Node ${node}, PostgreSQL ${postgres}, durable commits; fdatasync ${Math.round(fsyncUs)} µs`,
  ].join("\n");
}
