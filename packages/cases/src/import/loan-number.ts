/**
 * Whether URL parsers take a loan number for "this folder" or "the folder above" and remove it from a path, also when it
 * is percent-encoded. No loan can have such a number.
 *
 * @example
 * isDotSegment(".."); // true
 * isDotSegment("LN..1"); // false
 */
export function isDotSegment(loan: string): boolean {
  return loan === "." || loan === "..";
}
