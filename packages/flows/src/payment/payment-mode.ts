/**
 * The payment modes that we know; the list is open (contract: Payment confirmation request).
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

/** A mode as it is booked: a known one, or `other` beside the word that the lender sent. */
export interface PaymentModeReading {
  readonly mode: PaymentMode;
  readonly rawMode: string;
  readonly warnings: readonly { code: string; pointer: string; detail: string }[];
}

const TOKEN = /^[a-z][a-z0-9_.-]{0,39}$/;

/**
 * Reads a payment mode, case-insensitively. A word that we do not know is `other`, with a warning: captured money is
 * never refused for what we do not know. Anything that is no word is undefined.
 *
 * @example
 * paymentMode("NEFT"); // { mode: "neft", rawMode: "NEFT", warnings: [] }
 */
export function paymentMode(text: string): PaymentModeReading | undefined {
  const rawMode = text.trim();
  const token = rawMode.toLowerCase();
  if (!TOKEN.test(token)) return undefined;
  const known = PAYMENT_MODES.find((mode) => mode === token);
  if (known) return { mode: known, rawMode, warnings: [] };
  const detail = `The mode ${rawMode} is not known and is booked as other; what you sent is kept.`;
  return { mode: "other", rawMode, warnings: [{ code: "UNKNOWN_MODE", pointer: "/mode", detail }] };
}
