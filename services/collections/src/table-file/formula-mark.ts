/**
 * Matches a cell that a spreadsheet would run as a formula, even if apostrophes precede the formula. Full-width forms
 * of = + - @ match too, because some spreadsheets convert them. Leading blanks may precede the formula, because some
 * spreadsheets remove them.
 */
const FORMULA = /^'*(?:[\t\r\n]|[\s\u200B]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/;

/** Makes a spreadsheet show the cell as text: puts an apostrophe before a formula such as `=cmd` or `+9198…`. */
export function markFormula(cell: string): string {
  return FORMULA.test(cell) ? `'${cell}` : cell;
}

/** Undoes `markFormula`. Returns the cell unchanged if a spreadsheet has already removed the mark. */
export function unmarkFormula(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
}
