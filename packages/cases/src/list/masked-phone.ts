import { parsePhoneNumberFromString } from "libphonenumber-js";

const SHOWN_FIRST = 2;
const SHOWN_LAST = 3;
const LEAST_HIDDEN = 4;

/**
 * Masks a phone number, so that its owner can recognise it but nobody can call it: `+919800000001` becomes
 * `98•••••001`.
 *
 * @example
 * maskedPhone("+919800000001"); // "98•••••001"
 */
export function maskedPhone(phone: string): string {
  const digits = parsePhoneNumberFromString(phone)?.nationalNumber ?? phone.replaceAll(/\D/g, "");
  const hidden = digits.length - SHOWN_FIRST - SHOWN_LAST;
  // If five digits of a short number were shown, the hidden digits could be guessed. So only two digits are shown.
  if (hidden < LEAST_HIDDEN) return "•".repeat(Math.max(digits.length - SHOWN_FIRST, 0)) + digits.slice(-SHOWN_FIRST);
  return digits.slice(0, SHOWN_FIRST) + "•".repeat(hidden) + digits.slice(-SHOWN_LAST);
}
