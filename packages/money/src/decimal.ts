import { exponentOf, type CurrencyCode } from "./currency.ts";

declare const wireNumberBrand: unique symbol;

/** A value that JSON.stringify prints as an exact JSON number. Put it into an answer; don't calculate with it. */
export interface WireNumber {
  readonly [wireNumberBrand]: true;
}

// TypeScript's library does not describe JSON.rawJSON yet.
const { rawJSON } = JSON as typeof JSON & { rawJSON(this: void, text: string): WireNumber };

/**
 * Converts an amount to a JSON number in major units, in its shortest form: `2500`, `2500.5`, `-62.55`.
 *
 * @example
 * const answer = JSON.stringify({ amount: toWire(250050n, currency("INR")) }); // {"amount":2500.5}
 */
export function toWire(minor: bigint, currency: CurrencyCode): WireNumber {
  const decimal = toDecimal(minor, currency);
  return rawJSON(decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal);
}

/**
 * Converts an amount to text in major units with all decimals of its currency: `62.50` for INR, `62` for JPY, `-0.050` for KWD.
 *
 * @example
 * toDecimal(6250n, currency("INR")); // "62.50"
 * toDecimal(-62n, currency("JPY")); // "-62"
 */
export function toDecimal(minor: bigint, currency: CurrencyCode): string {
  const exponent = exponentOf(currency);
  const sign = minor < 0n ? "-" : "";
  const digits = (minor < 0n ? -minor : minor).toString().padStart(exponent + 1, "0");
  if (exponent === 0) return sign + digits;
  return `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}
