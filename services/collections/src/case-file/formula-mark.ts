/**
 * A cell that a spreadsheet would take for a formula, with any marks before it. The wide forms of = + - @ count too,
 * and so do blanks in front, since some spreadsheets remove both.
 */
const FORMULA = /^'*(?:[\t\r\n]|[\s\u200B]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/;

/** The cell as text for a spreadsheet: an apostrophe before a cell that it would run, such as `=cmd` or `+9198…`. */
export function markFormula(cell: string): string {
  return FORMULA.test(cell) ? `'${cell}` : cell;
}

/** The cell as it was before `markFormula`. A cell whose mark a spreadsheet has removed stays as it is. */
export function unmarkFormula(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
}
