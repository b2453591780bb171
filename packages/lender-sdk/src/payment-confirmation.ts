import { type Amount, AmountLiteral } from "./amount.ts";
import type { Answer, Warning } from "./answer.ts";
import { type Problem, ProblemError } from "./call-error.ts";
import type { CaseStatus } from "./case-snapshot.ts";

/**
 * A payment that was captured. contract: Payment confirmation request
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
  /** Your transaction's id; together with the loan it makes the payment one and the same, for good. */
  readonly reference: string;
  /** ISO 8601 with `Z` or an offset, or a Date. */
  readonly paidAt: string | Date;
  /** `upi`, `card`, `neft` … or a word of your own. */
  readonly mode: string;
  /** The link that was paid, if one was. */
  readonly linkId?: string | null;
  /** Says that an amount of 100 times what is owed is really meant. */
  readonly amountIsMajorUnits?: boolean;
}

/** How a payment was booked. contract: Payment confirmation response */
export interface Booking extends Answer {
  readonly caseId: string;
  readonly outstandingAfter: Amount;
  readonly status: CaseStatus;
  readonly reference: string;
  /** Of this payment's event `payment.collected`. */
  readonly sequence: number;
  readonly totalCollected: Amount;
  readonly excessAmount: Amount;
  /**
   * The part of the payment that your balance included already: it was captured at or before `outstandingAsOf`, and left
   * `outstandingAfter` unchanged. 0 for every other payment.
   */
  readonly inBalance: Amount;
  readonly attribution: "exact" | "inferred" | "none";
  readonly recordedAt: string;
  readonly warnings: readonly Warning[];
  /** True when it had been booked before this answer: by an earlier call, or by one whose answer got lost. */
  readonly repeated: boolean;
}

/** A booking with what was sent when it was made. */
export interface OriginalBooking extends Omit<Booking, "requestId" | "repeated"> {
  readonly amount: Amount;
  readonly mode: string;
  readonly paidAt: string;
  readonly linkId: string | null;
}

/**
 * This reference is booked, but for something else: `differences` names the fields. The first booking stands and this
 * payment is **not** booked. Repeats of the SDK's own never cause it, since they send the same bytes.
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

  constructor(problem: Problem) {
    super(problem);
    this.original = problem["original"] as OriginalBooking;
    this.differences = problem["differences"] as readonly string[];
  }
}

/** The request's body. Throws InvalidAmountError. */
export function paymentOnTheWire(payment: CapturedPayment): Record<string, unknown> {
  const { amount, reference, paidAt, mode, linkId, amountIsMajorUnits } = payment;
  return { amount: new AmountLiteral(amount, "amount"), reference, paidAt, mode, linkId, amountIsMajorUnits };
}

/** The booking that a 409 tells of; throws ReferenceConflictError when it is not of this very payment. */
export function repeatedBooking(conflict: ProblemError): Booking {
  const { original, matches } = conflict.problem as { original?: OriginalBooking; matches?: boolean };
  if (original === undefined) throw conflict;
  if (matches !== true) throw new ReferenceConflictError(conflict.problem);
  return { ...original, repeated: true, requestId: conflict.problem.requestId };
}
