/** An element of an array parameter. Numbers and booleans are sent as text. */
export type ArrayElement = string | number | bigint | boolean | null | undefined;

/**
 * Converts an array to PostgreSQL's array literal: `["a", null]` becomes `{"a",NULL}`. Use it for an array within an
 * array. An array that is itself a parameter needs no conversion.
 *
 * @example
 * const tagsOfInvoices = [["paid", "export"], [null]];
 * const parameter = tagsOfInvoices.map((tags) => arrayText(tags)); // ['{"paid","export"}', "{NULL}"]
 */
export function arrayText(elements: readonly ArrayElement[]): string {
  return `{${elements.map(elementText).join(",")}}`;
}

/**
 * Converts an array of simple elements to text before it is given to `pg`. `pg` escapes array elements with regular
 * expressions. For an import of texts full of quotation marks, that blocked the event loop for more than a second.
 */
export function parameterOf(value: unknown): unknown {
  return Array.isArray(value) && value.every(isElement) ? arrayText(value) : value;
}

function isElement(value: unknown): value is ArrayElement {
  return value === null || typeof value !== "object";
}

function elementText(element: ArrayElement): string {
  return element === null || element === undefined ? "NULL" : quoted(String(element));
}

function quoted(text: string): string {
  if (!text.includes('"') && !text.includes("\\")) return `"${text}"`;
  // JSON.stringify is fast and escapes quotation marks and backslashes as an array literal does. But it would also
  // escape control characters and lone surrogates, which an array literal must not do.
  if (text.isWellFormed() && !CONTROL_CHARACTER.test(text)) return JSON.stringify(text);
  return `"${text.replaceAll("\\", String.raw`\\`).replaceAll('"', String.raw`\"`)}"`;
}

const CONTROL_CHARACTER = /\p{Cc}/u;
