import type { Booking, BookingWarning, RemainingPayment, Reversal, ReversalReason } from "@collections/bookings";
import { whyNoNewIdentity } from "@collections/cases";
import { type AmountLiteral, readAmount, toDecimal } from "@collections/money";
import { bookedReference, possibleReferences } from "./reference.ts";

/**
 * The reversal of a payment that a lender reports (contract: Payment reversal request). Its fields are parsed but not
 * checked.
 *
 * @example
 * const request: ReversalRequest = {
 *   lender, loan: "LN-2026-00417", reference: "UTR402812345678", reversalReference: "RV-77",
 *   reversedAt: new Date("2026-11-24T10:00:00Z"), amount: null, reason: "bounced", note: null,
 *   warnings: [], acceptedAt: new Date(),
 * };
 * const outcome = await reversePayment(em, request, "live");
 */
export interface ReversalRequest {
  readonly lender: { readonly id: string; readonly code: string };
  readonly loan: string;
  /** The reference of the payment. */
  readonly reference: string;
  /**
   * The lender's id of the reversal as it was sent, without spaces at its ends; 1 to 128 characters. The idempotency key
   * is its NFC form, together with the loan.
   */
  readonly reversalReference: string;
  readonly reversedAt: Date;
  /** The amount in major units of the payment's currency, as the lender wrote it. Null: all that is left of the payment. */
  readonly amount: AmountLiteral | null;
  readonly reason: ReversalReason;
  /** A text that is stored for ever. It must not contain personal data. */
  readonly note: string | null;
  /** Warnings about the request, which are stored with the reversal. */
  readonly warnings: readonly BookingWarning[];
  /** When the request was accepted. `reversedAt` is compared with this time. */
  readonly acceptedAt: Date;
}

/** The reasons why a reversal is not recorded. contract: Payment reversal request */
export type ReversalRefusal =
  | "LOAN_NOT_FOUND"
  | "PAYMENT_NOT_FOUND"
  | "INVALID_TEXT"
  | "AMOUNT_PRECISION"
  | "AMOUNT_OUT_OF_RANGE"
  | "REVERSAL_EXCEEDS_PAYMENT"
  | "REVERSED_AT_IN_FUTURE"
  | "REVERSED_BEFORE_PAID";

/** Why a reversal was not recorded. Nothing was changed. */
export interface RefusedReversal {
  readonly kind: "refused";
  readonly code: ReversalRefusal;
  readonly detail: string;
  /** The JSON pointer (RFC 6901) of the wrong field, if there is one. */
  readonly pointer?: string;
}

/** How far `reversedAt` may be ahead of the service's clock. */
const REVERSED_AT_TOLERANCE_MS = 5 * 60_000;

/** Checks a reversal against its payment. `remaining` is what earlier reversals have left of the payment. */
export function checkReversal(
  request: ReversalRequest,
  booking: Booking,
  remaining: RemainingPayment,
): { amountMinor: bigint } | RefusedReversal {
  const { amount, reversedAt, acceptedAt, reversalReference } = request;
  const { currency, paidAt } = booking;
  const fault = whyNoNewIdentity(reversalReference);
  if (fault !== undefined) {
    return refusedReversal("INVALID_TEXT", `reversalReference: ${fault}`, "/reversalReference");
  }
  const leftMinor = remaining.appliedMinor + remaining.excessMinor;
  const reading = amount === null ? { minor: leftMinor } : readAmount(amount, currency);
  if ("fault" in reading) return refusedReversal(reading.fault, reading.detail, "/amount");
  if (reading.minor > leftMinor || leftMinor === 0n) {
    const left = leftMinor === 0n ? "nothing" : `${toDecimal(leftMinor, currency)} ${currency}`;
    return refusedReversal(
      "REVERSAL_EXCEEDS_PAYMENT",
      `Earlier reversals have left ${left} of this payment.`,
      "/amount",
    );
  }
  if (reversedAt.getTime() > acceptedAt.getTime() + REVERSED_AT_TOLERANCE_MS) {
    const detail = `reversedAt is ahead of server time, ${acceptedAt.toISOString()}.`;
    return refusedReversal("REVERSED_AT_IN_FUTURE", detail, "/reversedAt");
  }
  if (reversedAt < paidAt) {
    const detail = `reversedAt is before the payment was captured, ${paidAt.toISOString()}.`;
    return refusedReversal("REVERSED_BEFORE_PAID", detail, "/reversedAt");
  }
  return { amountMinor: reading.minor };
}

export function refusedReversal(code: ReversalRefusal, detail: string, pointer?: string): RefusedReversal {
  return { kind: "refused", code, detail, ...(pointer !== undefined && { pointer }) };
}

/**
 * Returns the fields in which a repeat differs from the recorded reversal. If the repeat has no amount, the amount does
 * not count as different, because the first call may have had no amount either.
 */
export function reversalDifferences(original: Reversal, repeat: ReversalRequest): string[] {
  const reading = repeat.amount === null ? null : readAmount(repeat.amount, original.currency);
  const same = {
    reference: possibleReferences(repeat.reference).some(
      (reference) => bookedReference(reference) === bookedReference(original.reference),
    ),
    amount: reading === null || ("minor" in reading && reading.minor === original.amountMinor),
    reversedAt: repeat.reversedAt.getTime() === original.reversedAt.getTime(),
    reason: repeat.reason === original.reason,
    note: repeat.note === original.note,
  };
  return Object.entries(same).flatMap(([field, isSame]) => (isSame ? [] : [field]));
}
