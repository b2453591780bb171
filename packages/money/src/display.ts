import { type CurrencyCode, exponentOf } from "./currency.ts";
import { toDecimal } from "./decimal.ts";
import type { Money } from "./money.ts";

const FALLBACK_LOCALE = "en";
const MAX_FORMATS = 500;
/** The longest locale that is used. All usual language tags are at most this long (RFC 5646, 4.4.1). */
const MAX_LOCALE_CHARS = 35;

// A cache, because making a NumberFormat costs far more than using it. Clients choose the locales, so the cache limits
// the number and the length of the locales.
const formats = new Map<string, Intl.NumberFormat>();

/**
 * Formats an amount for people, with the currency's symbol and all of its decimals: `₹62.50`. The text is in English if the
 * locale is absent, malformed, too long or unknown to the runtime, whatever the locale of the machine is.
 *
 * @example
 * display(money(250050n, currency("INR")), "en-IN"); // "₹2,500.50"
 */
export function display(money: Money, locale?: string): string {
  return formatFor(money.currency, shortened(locale)).format(
    toDecimal(money.minor, money.currency) as Intl.StringNumericLiteral,
  );
}

const groupFormats = new Map<string, Intl.NumberFormat>();

/**
 * Groups the digits of an amount that is written as a decimal, as the readers of its currency do: rupees as in India. Keeps
 * every digit after the point.
 *
 * @example
 * grouped("125000.50", "INR"); // "1,25,000.50"
 */
export function grouped(decimal: string, code: string): string {
  const digits = decimal.split(".")[1]?.length ?? 0;
  const locale = code === "INR" ? "en-IN" : "en";
  const key = `${locale} ${digits}`;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const format = groupFormats.get(key) ?? new Intl.NumberFormat(locale, options);
  groupFormats.set(key, format);
  return format.format(decimal as Intl.StringNumericLiteral);
}

function shortened(locale = FALLBACK_LOCALE): string {
  return locale.length > MAX_LOCALE_CHARS ? FALLBACK_LOCALE : locale;
}

function formatFor(currency: CurrencyCode, locale: string): Intl.NumberFormat {
  const key = `${currency} ${locale}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const decimals = exponentOf(currency);
  const format = new Intl.NumberFormat(supported(locale), {
    style: "currency",
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  if (formats.size >= MAX_FORMATS) formats.clear();
  formats.set(key, format);
  return format;
}

function supported(locale: string): string {
  try {
    return Intl.NumberFormat.supportedLocalesOf(locale)[0] ?? FALLBACK_LOCALE;
  } catch {
    // Intl throws a RangeError for a text that is not a language tag.
    return FALLBACK_LOCALE;
  }
}
