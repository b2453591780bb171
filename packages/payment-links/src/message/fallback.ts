import { type CurrencyCode, toDecimal } from "@collections/money";
import { renderSVG } from "uqr";

/** UPI knows no other currency. */
const UPI_CURRENCY = "INR";
/** What UPI apps show of a payee's name and of a note. */
const MAX_PAYEE_NAME_CHARS = 99;
const MAX_NOTE_CHARS = 50;
/** Light modules around the code: with less than four, scanners may miss it. */
const QUIET_ZONE_MODULES = 4;

/** A lender's account for transfers, as the lender wrote it: `ifsc` in India, `swift` for payments from abroad. */
export interface BankAccount {
  readonly accountNumber: string;
  readonly accountName?: string;
  readonly ifsc?: string;
  readonly swift?: string;
  readonly bankName?: string;
}

/** How a lender can be paid without a link, as registered. */
export interface FallbackDetails {
  readonly upiId: string | null;
  readonly bankAccount: BankAccount | null;
  readonly instructions: string | null;
  /** The lender's name. */
  readonly payeeName: string;
}

/** What is to be paid: an amount in minor units of `currency`, and what it is for. */
export interface FallbackPayment {
  /** Without it, or at 0, the payer types an amount. */
  readonly amountMinor?: bigint;
  readonly currency: CurrencyCode;
  /** Such as the loan number; UPI carries 50 characters of it. */
  readonly note: string;
}

/** What a field partner shows when there is no link; each part is null where the lender has registered nothing. */
export interface Fallback {
  /** `upi://pay?…`, for payments in INR. */
  readonly upiUri: string | null;
  /** The same as a QR code: an SVG image. */
  readonly qrSvg: string | null;
  readonly bankAccount: BankAccount | null;
  readonly instructions: string | null;
}

/**
 * The lender's QR and bank details for a payment. contract: Errors ("falls back to the lender's QR/bank details")
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
    // Drawing takes milliseconds: only who asks for the picture waits for it.
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
    // UPI apps expect the @ of an id as it is, and a URI's query may hold it.
    `pa=${percentEncoded(upiId).replaceAll("%40", "@")}`,
    `pn=${percentEncoded(shortened(payeeName, MAX_PAYEE_NAME_CHARS))}`,
    ...(amountMinor > 0n ? [`am=${toDecimal(amountMinor, currency)}`] : []),
    `cu=${UPI_CURRENCY}`,
    ...(note.trim() === "" ? [] : [`tn=${percentEncoded(shortened(note, MAX_NOTE_CHARS))}`]),
  ];
  return `upi://pay?${parameters.join("&")}`;
}

/** Everything but letters, digits and -._~ becomes its UTF-8 bytes: a space is %20, never a plus sign. */
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
