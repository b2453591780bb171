import { parsePhoneNumberFromString } from "libphonenumber-js";

const SHOWN_FIRST = 2;
const SHOWN_LAST = 3;
const LEAST_HIDDEN = 4;

/**
 * A phone number that its owner recognises and nobody can call: `+919800000001` is `98•••••001`.
 *
 * @example
 * maskedPhone("+919800000001"); // "98•••••001"
 */
export function maskedPhone(phone: string): string {
  const digits = parsePhoneNumberFromString(phone)?.nationalNumber ?? phone.replaceAll(/\D/g, "");
  const hidden = digits.length - SHOWN_FIRST - SHOWN_LAST;
  // Of a short number the five shown digits would be most of it: the rest could be tried.
  if (hidden < LEAST_HIDDEN) return "•".repeat(Math.max(digits.length - SHOWN_FIRST, 0)) + digits.slice(-SHOWN_FIRST);
  return digits.slice(0, SHOWN_FIRST) + "•".repeat(hidden) + digits.slice(-SHOWN_LAST);
}
