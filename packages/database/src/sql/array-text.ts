/** An element of an array that is a parameter. Numbers and booleans travel as their text. */
export type ArrayElement = string | number | bigint | boolean | null | undefined;

/**
 * Writes an array as PostgreSQL reads it: `["a", null]` as `{"a",NULL}`. Statements take arrays as they are; an array
 * within an array travels as such a text.
 *
 * @example
 * const tagsOfInvoices = [["paid", "export"], [null]];
 * const parameter = tagsOfInvoices.map((tags) => arrayText(tags)); // ['{"paid","export"}', "{NULL}"]
 */
export function arrayText(elements: readonly ArrayElement[]): string {
  return `{${elements.map(elementText).join(",")}}`;
}

/**
 * The value to give to `pg`. `pg` escapes the elements of an array by regular expressions: for an import whose texts are
 * full of quotation marks that stopped the event loop for more than a second.
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
  // JSON escapes these two characters in the same way, and fast. It also escapes control characters and lone surrogates,
  // as an array must not.
  if (text.isWellFormed() && !CONTROL_CHARACTER.test(text)) return JSON.stringify(text);
  return `"${text.replaceAll("\\", String.raw`\\`).replaceAll('"', String.raw`\"`)}"`;
}

const CONTROL_CHARACTER = /\p{Cc}/u;
