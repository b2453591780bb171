import { type CurrencyCode, grouped, toDecimal } from "@collections/money";

/**
 * Formats an amount for people, with its currency: 1,25,000.50 INR. Rupees are grouped as in India. Commands print
 * amounts without groups in `--json` and `--csv`.
 */
export function amountText(minor: bigint, currency: CurrencyCode): string {
  return withCurrency(toDecimal(minor, currency), currency);
}

/** Formats an amount that is written as a decimal, such as `125000.50`: 1,25,000.50 INR. */
export function withCurrency(decimal: string, currency: string): string {
  return `${grouped(decimal, currency)} ${currency}`;
}
