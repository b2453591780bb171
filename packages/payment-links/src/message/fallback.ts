import { type CurrencyCode, toDecimal } from "@collections/money";
import { renderSVG } from "uqr";

/** The only currency of UPI. */
const UPI_CURRENCY = "INR";
/** UPI apps show at most this many characters of a payee's name and of a note. */
const MAX_PAYEE_NAME_CHARS = 99;
const MAX_NOTE_CHARS = 50;
/** The width of the light border around the QR code. With fewer than four modules, scanners may miss the code. */
const QUIET_ZONE_MODULES = 4;

/** A lender's bank account, as the lender registered it. `ifsc` is for India, `swift` for payments from abroad. */
export interface BankAccount {
  readonly accountNumber: string;
  readonly accountName?: string;
  readonly ifsc?: string;
  readonly swift?: string;
  readonly bankName?: string;
}

/** The ways to pay a lender without a link, as the lender registered them. */
export interface FallbackDetails {
  readonly upiId: string | null;
  readonly bankAccount: BankAccount | null;
  readonly instructions: string | null;
  /** The lender's name. */
  readonly payeeName: string;
}

/** The payment: an amount in minor units of `currency`, and a note. */
export interface FallbackPayment {
  /** The amount to pay. If it is absent or 0, the payer types the amount. */
  readonly amountMinor?: bigint;
  readonly currency: CurrencyCode;
  /** What the payment is for, such as the loan number. UPI carries the first 50 characters. */
  readonly note: string;
}

/** The details that a field partner shows when there is no link. A part that the lender has not registered is null. */
export interface Fallback {
  /** The UPI URI of the payment, `upi://pay?…`. Null for other currencies than INR. */
  readonly upiUri: string | null;
  /** The UPI URI as a QR code, an SVG image. */
  readonly qrSvg: string | null;
  readonly bankAccount: BankAccount | null;
  readonly instructions: string | null;
}

/**
 * Returns the lender's QR code and bank details for a payment.
 * contract: Errors ("falls back to the lender's QR/bank details")
 *
 * @example
 * const details = { upiId: "acme@icici", bankAccount: null, instructions: null, payeeName: "Acme Finance" };
 * const payment = { amountMinor: 250_000n, currency: currency("INR"), note: "LN-1001" };
 * const { upiUri, qrSvg } = fallbackFor(details, payment);
 */
export function fallbackFor(details: FallbackDetails, payment: FallbackPayment): Fallback {
  const { bankAccount, instructions } = details;
  const upiUri = upiUriFor(details, payment);
  return {
    upiUri,
    // Drawing takes milliseconds, so the code is drawn only when this property is read.
    get qrSvg() {
      return upiUri === null ? null : renderSVG(upiUri, { ecc: "M", border: QUIET_ZONE_MODULES, pixelSize: 1 });
    },
    bankAccount,
    instructions,
  };
}

function upiUriFor({ upiId, payeeName }: FallbackDetails, payment: FallbackPayment): string | null {
  if (upiId === null || payment.currency !== UPI_CURRENCY) return null;
  const { amountMinor = 0n, currency, note } = payment;
  const parameters = [
    // UPI apps expect an unescaped @ in an id, and the query of a URI may contain an @.
    `pa=${percentEncoded(upiId).replaceAll("%40", "@")}`,
    `pn=${percentEncoded(shortened(payeeName, MAX_PAYEE_NAME_CHARS))}`,
    ...(amountMinor > 0n ? [`am=${toDecimal(amountMinor, currency)}`] : []),
    `cu=${UPI_CURRENCY}`,
    ...(note.trim() === "" ? [] : [`tn=${percentEncoded(shortened(note, MAX_NOTE_CHARS))}`]),
  ];
  return `upi://pay?${parameters.join("&")}`;
}

/** Percent-encodes every character but letters, digits and -._~ as UTF-8. A space becomes %20, never a plus sign. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.codePointAt(0)?.toString(16).toUpperCase()}`,
  );
}

function shortened(text: string, maxChars: number): string {
  return Array.from(text.replaceAll(/\p{Cc}+/gu, " ").trim())
    .slice(0, maxChars)
    .join("");
}
