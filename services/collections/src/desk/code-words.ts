/** The names that are written in another way than in small letters. */
const NAMES: Readonly<Record<string, string>> = {
  imps: "IMPS",
  nach: "NACH",
  neft: "NEFT",
  rtgs: "RTGS",
  sms: "SMS",
  upi: "UPI",
  whatsapp: "WhatsApp",
};

/**
 * Returns a stored code as words for people.
 *
 * @example
 * codeWords("PROMISE_TO_PAY"); // promise to pay
 * codeWords("upi"); // UPI
 */
export function codeWords(code: string): string {
  return code
    .toLowerCase()
    .split("_")
    .map((word) => NAMES[word] ?? word)
    .join(" ");
}
