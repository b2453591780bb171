/**
 * Tells whether a loan number is `.` or `..`. URL parsers take these for "this folder" and "the parent folder" and
 * remove them from a path, also if they are percent-encoded. So no loan can have such a number.
 *
 * @example
 * isDotSegment(".."); // true
 * isDotSegment("LN..1"); // false
 */
export function isDotSegment(loan: string): boolean {
  return loan === "." || loan === "..";
}
