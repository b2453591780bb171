import { type CurrencyCode, toDecimal } from "@collections/money";

const formats = new Map<CurrencyCode, Intl.NumberFormat>();

/**
 * Formats an amount for people, with its currency: 1,25,000.50 INR. Rupees are grouped as in India. Commands print
 * amounts without groups in `--json`.
 */
export function amountText(minor: bigint, currency: CurrencyCode): string {
  const decimal = toDecimal(minor, currency);
  return `${formatOf(currency, decimal.split(".")[1]?.length ?? 0).format(decimal as Intl.StringNumericLiteral)} ${currency}`;
}

function formatOf(currency: CurrencyCode, digits: number): Intl.NumberFormat {
  const known = formats.get(currency);
  if (known !== undefined) return known;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const format = new Intl.NumberFormat(currency === "INR" ? "en-IN" : "en", options);
  formats.set(currency, format);
  return format;
}
