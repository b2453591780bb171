import type { LockedCase } from "@collections/cases";
import type { Booking, BookingWarning } from "@collections/ledger";
import { type AmountLiteral, exponentOf, readAmount } from "@collections/money";
import type { PaidLink } from "@collections/payment-links";
import type { PaymentMode } from "./payment-mode.ts";
import { hasInvisible } from "./reference.ts";

/**
 * A captured payment that a lender confirms (contract: Payment confirmation request), its fields read but not judged.
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
  /** Major units, as written; its currency is the case's. */
  readonly amount: AmountLiteral;
  /** The lender means an amount that looks like minor units. */
  readonly amountIsMajorUnits: boolean;
  /** Trimmed, 1 to 128 characters, as it was sent: with the loan and in NFC, the idempotency key. */
  readonly reference: string;
  readonly paidAt: Date;
  readonly mode: PaymentMode;
  readonly rawMode: string;
  readonly linkId: string | null;
  /** What was odd about the request, to be kept with the booking. */
  readonly warnings: readonly BookingWarning[];
  /** When its request was let in: a clock that jumps while it is under way does not make its payment one of the future. */
  readonly acceptedAt: Date;
}

/** Why a payment is not booked. contract: Payment confirmation request */
export type ConfirmationRefusal =
  | "LOAN_NOT_FOUND"
  | "INVALID_TEXT"
  | "AMOUNT_PRECISION"
  | "AMOUNT_OUT_OF_RANGE"
  | "AMOUNT_LOOKS_LIKE_MINOR_UNITS"
  | "PAID_AT_IN_FUTURE"
  | "LINK_LOAN_MISMATCH";

/** What became of one confirmation. */
export type ConfirmationOutcome =
  | { readonly kind: "booked"; readonly booking: Booking }
  | { readonly kind: "duplicate"; readonly original: Booking; readonly differences: readonly string[] }
  | {
      readonly kind: "refused";
      readonly code: ConfirmationRefusal;
      readonly detail: string;
      /** RFC 6901, where one field is to blame. */
      readonly pointer?: string;
    };

type Refused = Extract<ConfirmationOutcome, { kind: "refused" }>;

const INVISIBLE_REFERENCE =
  "reference: has invisible characters, such as a zero-width space or a soft hyphen; send it without them.";

/** How far a payment may lie ahead of our clock. */
const PAID_AT_TOLERANCE_MS = 5 * 60_000;

/**
 * Judges a payment against its case: only what is wrong is refused, never what we merely do not know. `link` is the
 * link that it names, where the service knows that one.
 */
export function checkConfirmation(
  confirmation: Confirmation,
  lockedCase: LockedCase,
  link: PaidLink | undefined,
): { amountMinor: bigint } | Refused {
  const { amount, amountIsMajorUnits, paidAt, acceptedAt, reference } = confirmation;
  if (hasInvisible(reference)) return refused("INVALID_TEXT", INVISIBLE_REFERENCE, "/reference");
  const reading = readAmount(amount, lockedCase.currency);
  if ("fault" in reading) return refused(reading.fault, reading.detail, "/amount");
  if (link && link.sourceLoanNumber !== confirmation.loan) {
    return refused("LINK_LOAN_MISMATCH", "The link was minted for another loan; confirm the payment there.", "/linkId");
  }
  const owed = [lockedCase.outstandingMinor, ...(link ? [link.amountMinor] : [])];
  if (!amountIsMajorUnits && looksLikeMinorUnits(reading.minor, owed, exponentOf(lockedCase.currency))) {
    return refused(
      "AMOUNT_LOOKS_LIKE_MINOR_UNITS",
      `${amount.source} is exactly 100 times what is owed. Send major units, or "amountIsMajorUnits": true if meant.`,
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

/** The fields in which a repeat differs from what was booked (contract: Errors). */
export function differencesFrom(original: Booking, repeat: Confirmation): string[] {
  const reading = readAmount(repeat.amount, original.currency);
  const same = {
    amount: "minor" in reading && reading.minor === original.amountMinor,
    mode: repeat.mode === original.mode && repeat.rawMode.toLowerCase() === original.rawMode.toLowerCase(),
    paidAt: repeat.paidAt.getTime() === original.paidAt.getTime(),
    linkId: repeat.linkId === original.linkId,
  };
  return Object.entries(same).flatMap(([field, isSame]) => (isSame ? [] : [field]));
}

/** A currency without a minor unit has nothing to be mistaken for. */
function looksLikeMinorUnits(amountMinor: bigint, owedMinor: readonly bigint[], exponent: number): boolean {
  const factor = 10n ** BigInt(exponent);
  return factor > 1n && owedMinor.some((owed) => owed * factor === amountMinor);
}
