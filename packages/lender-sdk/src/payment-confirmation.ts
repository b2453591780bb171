import { type Amount, AmountLiteral } from "./amount.ts";
import type { Answer, Warning } from "./answer.ts";
import { type Problem, ProblemError } from "./call-error.ts";
import type { CaseStatus, PaymentReversal } from "./case-snapshot.ts";

/**
 * A captured payment. contract: Payment confirmation request
 *
 * @example
 * const payment: CapturedPayment = {
 *   amount: "2500.50",
 *   reference: "pay_Nx81",
 *   paidAt: new Date(),
 *   mode: "upi",
 * };
 */
export interface CapturedPayment {
  /** Major units as text, such as `"2500.50"`. */
  readonly amount: Amount;
  /** Your transaction's id. The service books a reference at most once per loan, forever. */
  readonly reference: string;
  /** ISO 8601 with `Z` or an offset, or a Date. */
  readonly paidAt: string | Date;
  /** `upi`, `card`, `neft` … or a text of your choice, at most 64 characters. */
  readonly mode: string;
  /** The payment link that the borrower paid by, if any. */
  readonly linkId?: string | null;
  /** The reference of a payment of the loan that was booked too low: this payment is the rest of it. */
  readonly partOf?: string | null;
  /** Set this to true to confirm that the amount is in major units, although it looks like minor units. */
  readonly amountIsMajorUnits?: boolean;
}

/** The booking of a payment. contract: Payment confirmation response */
export interface Booking extends Answer {
  readonly caseId: string;
  readonly outstandingAfter: Amount;
  readonly status: CaseStatus;
  readonly reference: string;
  /** The reference of the payment that this payment completes. Null for a payment of its own. */
  readonly partOf: string | null;
  /** The sequence of this payment's `payment.collected` event. */
  readonly sequence: number;
  readonly totalCollected: Amount;
  readonly excessAmount: Amount;
  /**
   * The part of the payment that your balance already included: it was captured at or before `outstandingAsOf`, so it
   * left `outstandingAfter` unchanged. 0 for every other payment.
   */
  readonly inBalance: Amount;
  readonly attribution: "exact" | "inferred" | "none";
  readonly recordedAt: string;
  readonly warnings: readonly Warning[];
  /** True if an earlier call had booked the payment, perhaps one whose answer was lost. */
  readonly repeated: boolean;
  /**
   * The reversals of the payment, if it was booked before; otherwise empty. If they add up to its amount, the payment is
   * not booked now. To book it again, confirm it with another reference.
   */
  readonly reversals: readonly PaymentReversal[];
}

/** A booking together with the fields of the confirmation that made it. */
export interface OriginalBooking extends Omit<Booking, "requestId" | "repeated" | "reversals"> {
  readonly amount: Amount;
  readonly mode: string;
  readonly paidAt: string;
  readonly linkId: string | null;
}

/**
 * Thrown if another payment is booked under this reference; `differences` names the fields that differ. The first
 * booking stays valid, and this payment is **not** booked. Retries by the SDK never cause this error, because they send
 * the same bytes.
 *
 * @example
 * await client.confirmPayment("LN-1001", payment).catch((error: unknown) => {
 *   if (!(error instanceof ReferenceConflictError)) throw error;
 *   console.error(`${error.original.reference} is booked with another ${error.differences.join(", ")}`);
 * });
 */
export class ReferenceConflictError extends ProblemError {
  override readonly name = "ReferenceConflictError";
  readonly original: OriginalBooking;
  readonly differences: readonly string[];
  /** The reversals of the first booking. */
  readonly reversals: readonly PaymentReversal[];

  constructor(problem: Problem) {
    super(problem);
    this.original = problem["original"] as OriginalBooking;
    this.differences = problem["differences"] as readonly string[];
    this.reversals = reversalsIn(problem);
  }
}

/** Builds the request's body. Throws InvalidAmountError. */
export function bodyOfPayment(payment: CapturedPayment): Record<string, unknown> {
  const { amount, reference, paidAt, mode, linkId, partOf, amountIsMajorUnits } = payment;
  return { amount: new AmountLiteral(amount, "amount"), reference, paidAt, mode, linkId, partOf, amountIsMajorUnits };
}

/** Returns the original booking from a 409. Throws ReferenceConflictError if that booking is of a different payment. */
export function repeatedBooking(conflict: ProblemError): Booking {
  const { original, matches } = conflict.problem as { original?: OriginalBooking; matches?: boolean };
  if (original === undefined) throw conflict;
  if (matches !== true) throw new ReferenceConflictError(conflict.problem);
  return {
    ...original,
    repeated: true,
    reversals: reversalsIn(conflict.problem),
    requestId: conflict.problem.requestId,
  };
}

/** Returns the reversals that a 409 names. A service of an earlier version names none. */
function reversalsIn(problem: Problem): readonly PaymentReversal[] {
  return (problem["reversals"] ?? []) as readonly PaymentReversal[];
}
