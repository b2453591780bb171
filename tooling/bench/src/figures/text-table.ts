import type { Spread } from "./statistics.ts";

/** Aligns columns to their widest cell, numbers to the right. `first` aligns the first column. */
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

/** Formats the median of a ratio, with its smallest and largest round. */
export function ratioText({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
}

/** Formats the median of a time, with its smallest and largest round. */
export function milliseconds({ median, min, max }: Spread): string {
  return `${median.toFixed(1)} (${min.toFixed(1)}–${max.toFixed(1)})`;
}

/** Formats the median of a rate, with its smallest and largest round. */
export function rateText({ median, min, max }: Spread): string {
  return `${whole(median)} (${whole(min)}–${whole(max)})`;
}

export function busyText(processors: number | undefined): string {
  return processors === undefined ? "" : processors.toFixed(2);
}
