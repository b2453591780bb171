/**
 * Tells whether a loan number is `.` or `..`. In the path of a URL, these segments mean "this folder" and "the parent
 * folder". URL parsers remove them, even if they are percent-encoded. So such loan numbers are rejected.
 *
 * @example
 * isDotSegment(".."); // true
 * isDotSegment("LN..1"); // false
 */
export function isDotSegment(loan: string): boolean {
  return loan === "." || loan === "..";
}
