import { AmountLiteral } from "./amount.ts";

// Strings are matched too, so that digits inside them are passed over.
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const AMOUNTS_BY_OTHER_NAMES = new Set(["outstandingAfter", "totalCollected", "inBalance"]);

/**
 * JSON.parse, but numbers that are amounts become their own text: no double is made of them. An amount is known by its
 * key (`…amount`, `…Amount`, `outstandingAfter`, `totalCollected`, `inBalance`), in `changes` by the `field` beside it.
 */
export function parseExact(text: string): unknown {
  const literals: string[] = [];
  // Each number is replaced by its index, and looked up again: Node 20 does not tell a reviver what was written. The
  // space keeps what is no JSON, such as 01, from becoming it.
  const indexed = text.replaceAll(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') ? token : ` ${literals.push(token) - 1}`,
  );
  return JSON.parse(indexed, function revive(this: Readonly<Record<string, unknown>>, key, value: unknown) {
    if (typeof value !== "number") return value;
    const literal = literals[value] as string;
    return isAmount(key, this) ? literal : Number(literal);
  }) as unknown;
}

/** JSON.stringify of plain values, but an AmountLiteral becomes a number with its very digits. */
export function stringifyExact(value: unknown): string {
  if (value instanceof AmountLiteral) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => stringifyExact(item ?? null)).join(",")}]`;
  if (typeof value === "bigint") throw new TypeError("A bigint has no place in a request; amounts are text.");
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
