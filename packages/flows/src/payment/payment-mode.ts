/**
 * The known payment modes. Lenders may send other modes (contract: Payment confirmation request).
 *
 * @example
 * const help = `The mode is one of ${PAYMENT_MODES.join(", ")}.`;
 */
export const PAYMENT_MODES = [
  "upi",
  "card",
  "netbanking",
  "wallet",
  "imps",
  "neft",
  "rtgs",
  "nach",
  "bank_transfer",
  "direct_debit",
  "mobile_money",
  "cash",
  "cheque",
  "demand_draft",
  "other",
] as const;

/** One of PAYMENT_MODES. */
export type PaymentMode = (typeof PAYMENT_MODES)[number];

/** Tells whether a stored mode is one of PAYMENT_MODES. */
export function isPaymentMode(mode: string): mode is PaymentMode {
  return PAYMENT_MODES.some((known) => known === mode);
}

/** A mode as it is booked: a known mode, or `other`. `rawMode` is what the lender sent. */
export interface PaymentModeReading {
  readonly mode: PaymentMode;
  readonly rawMode: string;
  readonly warnings: readonly { code: string; pointer: string; detail: string }[];
}

/**
 * The maximum length of a mode, in characters (contract: Payment confirmation request).
 *
 * @example
 * const isTooLong = Array.from("UPI Collect").length > PAYMENT_MODE_CHARACTERS; // false
 */
export const PAYMENT_MODE_CHARACTERS = 64;

/**
 * Reads a payment mode, case-insensitively. An unknown text such as `UPI Collect` becomes `other`, with a warning: a
 * captured payment is never refused because of an unknown value. Returns undefined for a text that is empty or too long,
 * or has characters that are not stored.
 *
 * @example
 * paymentMode("NEFT"); // { mode: "neft", rawMode: "NEFT", warnings: [] }
 */
export function paymentMode(text: string): PaymentModeReading | undefined {
  const rawMode = text.trim();
  if (!isStorable(rawMode)) return undefined;
  const lowerCase = rawMode.toLowerCase();
  const known = PAYMENT_MODES.find((mode) => mode === lowerCase);
  if (known) return { mode: known, rawMode, warnings: [] };
  const detail = `The mode ${rawMode} is unknown and is booked as other; the text that was sent is stored too.`;
  return { mode: "other", rawMode, warnings: [{ code: "UNKNOWN_MODE", pointer: "/mode", detail }] };
}

function isStorable(rawMode: string): boolean {
  const length = Array.from(rawMode).length;
  return length > 0 && length <= PAYMENT_MODE_CHARACTERS && !/\p{Cc}/u.test(rawMode) && rawMode.isWellFormed();
}
