import { type CurrencyCode, toDecimal } from "@collections/money";

const formats = new Map<string, Intl.NumberFormat>();

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

/** Groups the digits of an amount that is written as a decimal: 1,25,000.50. Keeps every digit after the point. */
export function grouped(decimal: string, currency: string): string {
  return formatOf(currency, decimal.split(".")[1]?.length ?? 0).format(decimal as Intl.StringNumericLiteral);
}

function formatOf(currency: string, digits: number): Intl.NumberFormat {
  const locale = currency === "INR" ? "en-IN" : "en";
  const key = `${locale}/${digits}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const format = new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  formats.set(key, format);
  return format;
}
