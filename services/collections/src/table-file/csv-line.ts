import { markFormula } from "./formula-mark.ts";

/** Makes Excel read a file as UTF-8. */
export const BYTE_ORDER_MARK = "\uFEFF";

/**
 * Returns the cells as one record of a CSV file (RFC 4180), with its line break. A cell that a spreadsheet would run as
 * a formula is marked with an apostrophe.
 */
export function csvLine(cells: readonly string[], separator = ","): string {
  return `${cells.map((cell) => quoted(markFormula(cell), separator)).join(separator)}\r\n`;
}

function quoted(cell: string, separator: string): string {
  return cell.includes(separator) || /["\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
