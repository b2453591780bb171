import type { MoneyOrder } from "./reads/money-changes.ts";

const MAX_CHARACTERS = 500;

/** The fields of each kind of change, in the order of its page. */
const FIELDS = {
  payout: ["fieldPartnerId", "currency", "amount", "reference", "paidOn", "until"],
  reversal: ["lenderCode", "loan", "reference", "reversalReference", "reversedAt", "amount", "because", "note"],
  move: ["lenderCode", "loan", "reference", "toLoan", "note"],
} as const satisfies { readonly [Kind in MoneyOrder["kind"]]: readonly string[] };

/** Reads a change from a query or a form. Returns undefined for an unknown kind, and for control characters in a field. */
export function moneyOrderIn(given: URLSearchParams): MoneyOrder | undefined {
  const kind = given.get("kind") ?? "";
  if (!isKind(kind)) return undefined;
  const fields = FIELDS[kind].map((name) => [name, (given.get(name) ?? "").normalize().trim()] as const);
  if (fields.some(([, text]) => text.length > MAX_CHARACTERS || /[\p{Cc}\p{Cs}]/u.test(text))) return undefined;
  return { kind, ...Object.fromEntries(fields) } as unknown as MoneyOrder;
}

/** Returns the fields of a change, for a form or a query. */
export function fieldsOfOrder(order: MoneyOrder): readonly (readonly [name: string, value: string])[] {
  return Object.entries(order);
}

function isKind(text: string): text is MoneyOrder["kind"] {
  return Object.hasOwn(FIELDS, text);
}
