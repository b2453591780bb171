import { EXPONENTS } from "./iso-4217.ts";

declare const currencyBrand: unique symbol;

/** The three capital letters of an active ISO 4217 currency: `INR`, `JPY`, `KWD`. */
export type CurrencyCode = string & { readonly [currencyBrand]: true };

/**
 * The code is not an active ISO 4217 currency with a minor unit.
 *
 * @example
 * try {
 *   currency("Rs");
 * } catch (error) {
 *   if (error instanceof InvalidCurrencyError) console.error(error.code, error.received);
 * }
 */
export class InvalidCurrencyError extends Error {
  override readonly name = "InvalidCurrencyError";
  readonly code = "INVALID_CURRENCY";
  readonly received: string;

  constructor(received: string) {
    super(`"${received.slice(0, 20)}" is not an active ISO 4217 currency; expected three capital letters such as INR.`);
    this.received = received;
  }
}

/**
 * Returns whether `code` is an active ISO 4217 currency, in capitals.
 *
 * @example
 * isCurrency("INR"); // true
 * isCurrency("inr"); // false
 * isCurrency("XAU"); // false: gold has no minor unit
 */
export function isCurrency(code: string): code is CurrencyCode {
  return EXPONENTS.has(code);
}

/**
 * Checks a currency code and returns it with the type CurrencyCode. Throws InvalidCurrencyError.
 *
 * @example
 * const rupees = currency("INR");
 */
export function currency(code: string): CurrencyCode {
  if (!isCurrency(code)) throw new InvalidCurrencyError(code);
  return code;
}

/**
 * Returns the number of decimals between the major and the minor unit: JPY 0, INR 2, KWD 3. Throws
 * InvalidCurrencyError.
 *
 * @example
 * exponentOf(currency("INR")); // 2
 * exponentOf(currency("KWD")); // 3
 */
export function exponentOf(currency: CurrencyCode): number {
  const exponent = EXPONENTS.get(currency);
  if (exponent === undefined) throw new InvalidCurrencyError(currency);
  return exponent;
}
