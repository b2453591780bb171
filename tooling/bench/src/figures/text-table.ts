import type { Spread } from "./statistics.ts";

/** Columns as wide as their widest cell; the numbers to the right, or the first column to the left. */
export function table(
  columns: string,
  body: readonly (readonly string[])[],
  first: "left" | "right" = "right",
): string {
  const rows = [columns.split(","), ...body];
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, cell.length)),
    [],
  );
  const aligned = (cell: string, column: number) =>
    column === 0 && first === "left" ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!);
  return rows.map((row) => row.map(aligned).join("  ").trimEnd()).join("\n");
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** With its smallest and largest round. */
export function ratioText({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
}

/** With its smallest and largest round. */
export function milliseconds({ median, min, max }: Spread): string {
  return `${median.toFixed(1)} (${min.toFixed(1)}–${max.toFixed(1)})`;
}

/** With its smallest and largest round. */
export function rateText({ median, min, max }: Spread): string {
  return `${whole(median)} (${whole(min)}–${whole(max)})`;
}

export function busyText(processors: number | undefined): string {
  return processors === undefined ? "" : processors.toFixed(2);
}
