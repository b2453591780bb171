import { currentLanguage, currentLocale } from "./current.ts";

/** An amount: its currency, and the amount in major units with as many decimals as the currency has. */
interface Amount {
  readonly currency: string;
  readonly decimal: string;
}

const METRES_PER_KM = 1_000;
/** Distances below this have one decimal in kilometres. */
const NEAR_KM = 10;
const ROUNDED_TO_METRES = 10;

const numberFormats = new Map<string, Intl.NumberFormat>();
const dateFormats = new Map<string, Intl.DateTimeFormat>();

/** Formats an amount with its currency, exactly, such as ₹1,25,000.50. Rupees are grouped as in India in every locale. */
export function money({ currency, decimal }: Amount): string {
  const digits = decimal.split(".")[1]?.length ?? 0;
  const options = {
    style: "currency",
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  } as const;
  // The decimal is passed as a string, because a number cannot hold every amount exactly.
  const locale = currency === "INR" ? `${currentLanguage()}-IN` : currentLocale();
  return numberFormat(options, locale).format(decimal as Intl.StringNumericLiteral);
}

/** Returns an amount of at least 0 in minor units, with the currency and the decimals of `like`. */
export function moneyWith(minor: string, like: Amount): Amount & { readonly minor: string } {
  const digits = like.decimal.split(".")[1]?.length ?? 0;
  const text = minor.padStart(digits + 1, "0");
  const whole = text.slice(0, text.length - digits);
  return { minor, currency: like.currency, decimal: digits === 0 ? whole : `${whole}.${text.slice(-digits)}` };
}

/** Formats a number of things. */
export function count(value: number): string {
  return numberFormat({}).format(value);
}

/** Formats a percentage that is given as a decimal number of percent, such as `2.5`. */
export function percent(decimal: string): string {
  const digits = decimal.split(".")[1]?.length ?? 0;
  const options = { style: "unit", unit: "percent", minimumFractionDigits: digits } as const;
  return numberFormat(options).format(decimal as Intl.StringNumericLiteral);
}

/** Formats a distance: 170 m, 2.2 km, 14 km. */
export function distance(metres: number): string {
  const unit = (name: "meter" | "kilometer", decimals: number) =>
    numberFormat({ style: "unit", unit: name, minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  if (metres < METRES_PER_KM) {
    return unit("meter", 0).format(Math.round(metres / ROUNDED_TO_METRES) * ROUNDED_TO_METRES);
  }
  const kilometres = metres / METRES_PER_KM;
  return unit("kilometer", kilometres < NEAR_KM ? 1 : 0).format(kilometres);
}

/** Formats a date or the date of a moment, such as 20 Nov. The year is shown unless it is this year. */
export function dayOf(at: string | Date): string {
  const day = at instanceof Date ? at : new Date(at.includes("T") ? at : `${at}T00:00`);
  const isThisYear = day.getFullYear() === new Date().getFullYear();
  return dateFormat({ day: "numeric", month: "short", ...(!isThisYear && { year: "numeric" }) }).format(day);
}

/** Formats a date with its day of the week, such as Friday, 20 November. */
export function dayInFull(at: Date): string {
  return dateFormat({ weekday: "long", day: "numeric", month: "long" }).format(at);
}

/** Formats the time of a moment, with the day if it is not today. */
export function momentOf(at: Date): string {
  const time = dateFormat({ hour: "numeric", minute: "2-digit" }).format(at);
  return isoDay(at) === isoDay(new Date()) ? time : `${dayOf(at)}, ${time}`;
}

/** Returns the date in the phone's time zone, such as 2026-11-20. */
export function isoDay(at: Date): string {
  const [month, day] = [at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${at.getFullYear()}-${month}-${day}`;
}

function numberFormat(options: Intl.NumberFormatOptions, locale = currentLocale()): Intl.NumberFormat {
  return cached(numberFormats, locale, options, () => new Intl.NumberFormat(locale, options));
}

function dateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const locale = currentLocale();
  return cached(dateFormats, locale, options, () => new Intl.DateTimeFormat(locale, options));
}

function cached<Format>(made: Map<string, Format>, locale: string, options: object, make: () => Format): Format {
  const key = locale + JSON.stringify(options);
  const format = made.get(key) ?? make();
  made.set(key, format);
  return format;
}
