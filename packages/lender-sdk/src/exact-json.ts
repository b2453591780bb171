import { AmountLiteral } from "./amount.ts";

// Finds the numbers in a JSON text. It matches whole strings too, so that it does not find digits inside a string.
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const AMOUNTS_BY_OTHER_NAMES = new Set(["outstandingAfter", "totalCollected", "totalReversed", "inBalance"]);

/**
 * Works like JSON.parse, but keeps each amount as the text of its number, because a double could lose digits. An amount
 * is recognized by its key (`…amount`, `…Amount`, `outstandingAfter`, `totalCollected`, `totalReversed`,
 * `inBalance`), and inside `changes` by the `field` beside it.
 */
export function parseExact(text: string): unknown {
  const literals: string[] = [];
  // Gives the reviver the exact text of each number, because Node 20 does not pass it. JSON.parse gets a text in which
  // each number is replaced with its index in `literals`, and the reviver looks up the number's text by this index. The
  // space before each index keeps invalid JSON such as 01 invalid.
  const indexed = text.replaceAll(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') ? token : ` ${literals.push(token) - 1}`,
  );
  return JSON.parse(indexed, function revive(this: Readonly<Record<string, unknown>>, key, value: unknown) {
    if (typeof value !== "number") return value;
    const literal = literals[value] as string;
    return isAmount(key, this) ? literal : Number(literal);
  }) as unknown;
}

/** Works like JSON.stringify for plain values, but writes an AmountLiteral as a number with exactly its digits. */
export function stringifyExact(value: unknown): string {
  if (value instanceof AmountLiteral) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => stringifyExact(item ?? null)).join(",")}]`;
  if (typeof value === "bigint") throw new TypeError("A request cannot contain a bigint: amounts are text.");
  if (typeof value !== "object" || value === null || hasToJson(value)) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${stringifyExact(member)}`).join(",")}}`;
}

function isAmount(key: string, holder: Readonly<Record<string, unknown>>): boolean {
  const field = (key === "from" || key === "to") && typeof holder["field"] === "string" ? holder["field"] : key;
  return /amount$/i.test(field) || AMOUNTS_BY_OTHER_NAMES.has(field);
}

function hasToJson(value: object): boolean {
  return "toJSON" in value && typeof value.toJSON === "function";
}
