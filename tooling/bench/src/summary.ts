import type { Line } from "./figures/line.ts";
import type { Machine } from "./figures/machine.ts";

/** The lines of one subject, and what the machine had to do besides. */
export interface SummaryPart {
  readonly subject: string;
  readonly lines: readonly Line[];
  /** Processes that wanted to run in the minute before. */
  readonly loadBefore: number;
}

const COLUMNS = ["Subject", "Figure", "Service", "Beside", "Ratio, median (min–max)", "Rounds", "Aim", "Load"];

/** One table in Markdown, for the page that shows it as well as for a terminal. */
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
    "Ratio: of the service to what stands beside it, in the same round. Load: processes that wanted to run in the minute before the subject.",
  ].join("\n");
}

/** Two lines: without them the figures mean nothing. */
export function machineText({ processors, model, memoryGiB, platform, node, postgres, fsyncUs }: Machine): string {
  return [
    `${processors} × ${model}, ${memoryGiB} GiB, ${platform}`,
    `Node ${node}, PostgreSQL ${postgres}, durable commits; fdatasync ${Math.round(fsyncUs)} µs`,
  ].join("\n");
}
