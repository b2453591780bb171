import type { Booking, BookingWarning } from "@collections/bookings";
import { type LockedCase, whyNoNewIdentity } from "@collections/cases";
import { type AmountLiteral, exponentOf, readAmount } from "@collections/money";
import type { PaidLink } from "@collections/payment-links";
import type { PaymentMode } from "./payment-mode.ts";
import { bookedReference } from "./reference.ts";

/**
 * A captured payment that a lender confirms (contract: Payment confirmation request). Its fields are parsed but not
 * checked.
 *
 * @example
 * const payment: Confirmation = {
 *   lender, loan: "LN-2026-00417", reference: "UTR402812345678", paidAt: new Date("2026-11-20T09:40:55Z"),
 *   amount: new AmountLiteral("2500.50"), amountIsMajorUnits: false,
 *   mode: "neft", rawMode: "NEFT", linkId: null, warnings: [], acceptedAt: new Date(),
 * };
 * const [outcome] = await confirmPayments(em, [payment], "live");
 */
export interface Confirmation {
  readonly lender: { readonly id: string; readonly code: string };
  readonly loan: string;
  /** The amount in major units of the case's currency, as the lender wrote it. */
  readonly amount: AmountLiteral;
  /** Whether the lender states that the amount is in major units although it looks like minor units. */
  readonly amountIsMajorUnits: boolean;
  /**
   * The reference as it was sent, without spaces at its ends; 1 to 128 characters. The idempotency key is its NFC form,
   * together with the loan.
   */
  readonly reference: string;
  readonly paidAt: Date;
  readonly mode: PaymentMode;
  readonly rawMode: string;
  readonly linkId: string | null;
  /** The reference of the payment that this payment completes, if it is a part. The payment may be unknown. */
  readonly partOf?: string | null;
  /** Whether the payment moves from another loan. Then `reference` may be one that is refused for a new payment. */
  readonly isBookedElsewhere?: boolean;
  /** Warnings about the request, which are stored with the booking. */
  readonly warnings: readonly BookingWarning[];
  /** When the request was accepted. `paidAt` is compared with this time, so a clock that jumps later does no harm. */
  readonly acceptedAt: Date;
}

/** The reasons why a payment is not booked. contract: Payment confirmation request */
export type ConfirmationRefusal =
  | "LOAN_NOT_FOUND"
  | "INVALID_TEXT"
  | "AMOUNT_PRECISION"
  | "AMOUNT_OUT_OF_RANGE"
  | "AMOUNT_LOOKS_LIKE_MINOR_UNITS"
  | "PAID_AT_IN_FUTURE"
  | "LINK_LOAN_MISMATCH";

/** The outcome of one confirmation. */
export type ConfirmationOutcome =
  | { readonly kind: "booked"; readonly booking: Booking }
  | { readonly kind: "duplicate"; readonly original: Booking; readonly differences: readonly string[] }
  | {
      readonly kind: "refused";
      readonly code: ConfirmationRefusal;
      readonly detail: string;
      /** The JSON pointer (RFC 6901) of the wrong field, if there is one. */
      readonly pointer?: string;
    };

type Refused = Extract<ConfirmationOutcome, { kind: "refused" }>;

/** How far `paidAt` may be ahead of the service's clock. */
const PAID_AT_TOLERANCE_MS = 5 * 60_000;

/**
 * Checks a payment against its case. A payment is refused for wrong values, never for unknown ones. `link` is the link
 * that the payment names, if the service knows it.
 */
export function checkConfirmation(
  confirmation: Confirmation,
  lockedCase: LockedCase,
  link: PaidLink | undefined,
): { amountMinor: bigint } | Refused {
  const { amount, amountIsMajorUnits, paidAt, acceptedAt, reference, isBookedElsewhere } = confirmation;
  const fault = isBookedElsewhere ? undefined : whyNoNewIdentity(reference);
  if (fault !== undefined) return refused("INVALID_TEXT", `reference: ${fault}`, "/reference");
  const reading = readAmount(amount, lockedCase.currency);
  if ("fault" in reading) return refused(reading.fault, reading.detail, "/amount");
  if (link && link.sourceLoanNumber !== confirmation.loan) {
    return refused("LINK_LOAN_MISMATCH", "The link was minted for another loan; confirm the payment there.", "/linkId");
  }
  const owed = [lockedCase.outstandingMinor, ...(link ? [link.amountMinor] : [])];
  if (!amountIsMajorUnits && looksLikeMinorUnits(reading.minor, owed, exponentOf(lockedCase.currency))) {
    return refused(
      "AMOUNT_LOOKS_LIKE_MINOR_UNITS",
      `${amount.source} is exactly 100 times what is owed. Send major units, or "amountIsMajorUnits": true if the amount is right.`,
      "/amount",
    );
  }
  if (paidAt.getTime() > acceptedAt.getTime() + PAID_AT_TOLERANCE_MS) {
    return refused("PAID_AT_IN_FUTURE", `paidAt is ahead of server time, ${acceptedAt.toISOString()}.`, "/paidAt");
  }
  return { amountMinor: reading.minor };
}

export function refused(code: ConfirmationRefusal, detail: string, pointer?: string): Refused {
  return { kind: "refused", code, detail, ...(pointer !== undefined && { pointer }) };
}

/** Returns the reference of the payment of which a confirmation is a part, in the form in which it is booked. */
export function partOf({ partOf: reference }: Confirmation): string | null {
  return reference === undefined || reference === null ? null : bookedReference(reference);
}

/** Returns the fields in which a repeat differs from the booking (contract: Errors). */
export function differencesFrom(original: Booking, repeat: Confirmation): string[] {
  const reading = readAmount(repeat.amount, original.currency);
  const same = {
    amount: "minor" in reading && reading.minor === original.amountMinor,
    mode: repeat.mode === original.mode && repeat.rawMode.toLowerCase() === original.rawMode.toLowerCase(),
    paidAt: repeat.paidAt.getTime() === original.paidAt.getTime(),
    linkId: repeat.linkId === original.linkId,
    partOf: partOf(repeat) === original.partOf,
  };
  return Object.entries(same).flatMap(([field, isSame]) => (isSame ? [] : [field]));
}

/**
 * Tells whether the amount equals an owed amount that was written in minor units, such as 250000 for 2,500.00. That is
 * never true for a currency without a minor unit.
 */
function looksLikeMinorUnits(amountMinor: bigint, owedMinor: readonly bigint[], exponent: number): boolean {
  const factor = 10n ** BigInt(exponent);
  return factor > 1n && owedMinor.some((owed) => owed * factor === amountMinor);
}
