import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from "libphonenumber-js";

/** A phone number in E.164, or the reason why a text is not a phone number. */
export type PhoneReading = { readonly number: string } | { readonly fault: "unreadable" | "not_of_country" };

const MAX_LENGTH = 40;
const NOT_ASCII = /[^\x20-\x7E]/;
/** A word in front of a number in a file, such as Mob: */
const LABEL = /^[\p{L}\p{M}][\p{L}\p{M} .:()-]*(?=[+\d(])/u;
/** A word behind a number, such as (office) or res. */
const WORD_BEHIND = /[ (,.-]+[\p{L}\p{M}][\p{L}\p{M} .)'-]*$/u;
const BETWEEN_NUMBERS = /\s*(?:[,;/|&\n]|\bor\b|\band\b)\s*/i;

/**
 * Reads a phone number. A number without a country code is a number of `country`. A number of `country` must be one that
 * can exist there; of numbers of other countries only the length is checked. Digits of all scripts are read, and invisible
 * marks and a word behind the number are left out.
 *
 * @example
 * readPhoneNumber("098200 00001", "IN"); // { number: "+919820000001" }
 * readPhoneNumber("0000000000", "IN"); // { fault: "not_of_country" }
 */
export function readPhoneNumber(text: string, country: string): PhoneReading {
  if (text.length > MAX_LENGTH || !isSupportedCountry(country)) return { fault: "unreadable" };
  const plain = NOT_ASCII.test(text) ? withAsciiDigits(text) : text;
  const reading = parse(plain, country);
  if (!("fault" in reading) || !/\p{L}/u.test(plain)) return reading;
  return parse(plain.replace(WORD_BEHIND, ""), country);
}

/**
 * Reads a cell with one phone number or several, such as `98200 00001 / 98200 00002`. Returns the numbers in their order,
 * or undefined if a part of the cell is no number.
 *
 * @example
 * readPhoneNumbers("9820000001, 9820000002 (office)", "IN"); // ["+919820000001", "+919820000002"]
 */
export function readPhoneNumbers(text: string, country: string): string[] | undefined {
  const whole = readPhoneNumber(text.replace(LABEL, ""), country);
  if ("number" in whole) return [whole.number];
  const parts = text.split(BETWEEN_NUMBERS).filter((part) => part !== "");
  const numbers = parts.map((part) => readPhoneNumber(part.replace(LABEL, ""), country));
  const read = numbers.flatMap((one) => ("number" in one ? [one.number] : []));
  return read.length > 1 && read.length === numbers.length ? [...new Set(read)] : undefined;
}

/**
 * Reads a phone number that begins with `+` and its country code, as people write and copy it, and returns it in E.164.
 * Returns undefined for any other text. Only the length is checked.
 *
 * @example
 * readInternationalPhone("+91 098200-00001"); // "+919820000001"
 */
export function readInternationalPhone(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const plain = (NOT_ASCII.test(text) ? withAsciiDigits(text) : text).trim();
  if (!plain.startsWith("+")) return undefined;
  const number = parsePhoneNumberFromString(plain, { extract: false });
  return number?.isPossible() && number.ext === undefined ? number.number : undefined;
}

function parse(text: string, country: CountryCode): PhoneReading {
  const number = parsePhoneNumberFromString(text, { defaultCountry: country, extract: false });
  if (number?.ext !== undefined) return { fault: "unreadable" };
  const code = getCountryCallingCode(country);
  if (number?.isPossible() && (number.countryCallingCode !== code || number.isValid()))
    return { number: number.number };
  // Some systems put a 0 in front of the country code: 0919820000001.
  const digits = text.replaceAll(/\D/g, "").replace(/^0+/, "");
  if (text.trimStart().startsWith("0") && digits.startsWith(code)) {
    const again = parsePhoneNumberFromString(`+${digits}`, { extract: false });
    if (again?.isValid() && again.countryCallingCode === code) return { number: again.number };
  }
  return { fault: number?.isPossible() ? "not_of_country" : "unreadable" };
}

/** Replaces digits of other scripts, and removes invisible marks, which come with a number that is copied. */
function withAsciiDigits(text: string): string {
  return text
    .normalize("NFKC")
    .replaceAll(/\p{Cf}/gu, "")
    .replaceAll(/\p{Nd}/gu, (digit) => String(valueOf(digit)));
}

/** Returns the value of a digit. The ten digits of a script follow each other, and no other digits precede them. */
function valueOf(digit: string): number {
  const point = digit.codePointAt(0)!;
  if (point <= 0x39) return point - 0x30;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(point - value - 1))) value += 1;
  return value;
}
