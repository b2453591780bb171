/**
 * A JSON number exactly as it was written, before a double could round it.
 *
 * @example
 * const reading = readAmount(new AmountLiteral("2.5e3"), currency("INR")); // { minor: 250000n }
 */
export class AmountLiteral {
  /** The number's text: `2500`, `2500.00`, `2.5E3`. */
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

type ReviverWithSource = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

// TypeScript's library does not describe the reviver's third argument yet.
const parse = JSON.parse as (text: string, reviver: ReviverWithSource) => unknown;

/**
 * JSON.parse, except that a number directly under one of `amountKeys`, at any depth, becomes an AmountLiteral.
 * Throws SyntaxError for what is not JSON, and for JSON nested too deeply to walk.
 *
 * @example
 * const payment = parseJson(requestBody, new Set(["amount"])) as { amount?: unknown };
 * if (!(payment.amount instanceof AmountLiteral)) throw new TypeError("amount: expected a number");
 * const reading = readAmount(payment.amount, currency("INR"));
 */
export function parseJson(text: string, amountKeys: ReadonlySet<string>): unknown {
  try {
    return parse(text, (key, value, { source }) =>
      typeof value === "number" && source !== undefined && amountKeys.has(key) ? new AmountLiteral(source) : value,
    );
  } catch (error) {
    // The engine's walk is recursive: a megabyte of "[" exhausts the stack instead of failing to parse.
    if (error instanceof RangeError) throw new SyntaxError("The JSON is nested too deeply.", { cause: error });
    throw error;
  }
}
