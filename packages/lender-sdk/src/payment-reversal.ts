import { type Amount, AmountLiteral } from "./amount.ts";
import type { Answer, Warning } from "./answer.ts";
import { type Problem, ProblemError } from "./call-error.ts";
import type { CaseStatus } from "./case-snapshot.ts";

/** The reason of a reversal. contract: Payment reversal request */
export type ReversalReason =
  | "bank_reversed"
  | "chargeback"
  | "bounced"
  | "duplicate"
  | "wrong_loan"
  | "entered_by_mistake"
  | "other";

/**
 * Money of a confirmed payment that was returned. contract: Payment reversal request
 *
 * @example
 * const returned: ReturnedPayment = {
 *   reference: "pay_Nx81",
 *   reversalReference: "rev_5521",
 *   reversedAt: new Date(),
 *   reason: "bounced",
 * };
 */
export interface ReturnedPayment {
  /** The reference of the payment, as you confirmed it. */
  readonly reference: string;
  /** Your id of the reversal. The service records it at most once per loan, forever. */
  readonly reversalReference: string;
  /** ISO 8601 with `Z` or an offset, or a Date. */
  readonly reversedAt: string | Date;
  /** Major units as text. Without it, all that is left of the payment is reversed. */
  readonly amount?: Amount;
  readonly reason: ReversalReason;
  /** Stored forever: do not send personal data. */
  readonly note?: string | null;
}

/** A recorded reversal, and the loan's current case after it. contract: Payment reversal response */
export interface Reversal extends Answer {
  readonly caseId: string;
  /** The cycle of the payment. It is an earlier one if the loan was placed again since. */
  readonly cycle: number;
  readonly reference: string;
  readonly reversalReference: string;
  readonly amount: Amount;
  readonly outstandingAfter: Amount;
  readonly status: CaseStatus;
  /** The totals of the case. `totalCollected` is net of reversals. */
  readonly totalCollected: Amount;
  readonly totalReversed: Amount;
  readonly excessAmount: Amount;
  /** The sequence of this reversal's `payment.reversed` event. */
  readonly sequence: number;
  readonly recordedAt: string;
  readonly warnings: readonly Warning[];
  /** True if an earlier call had recorded the reversal, perhaps one whose answer was lost. */
  readonly repeated: boolean;
}

/** A reversal together with the fields of the request that made it. */
export interface OriginalReversal extends Omit<Reversal, "requestId" | "repeated"> {
  readonly reason: ReversalReason;
  readonly reversedAt: string;
  readonly note: string | null;
}

/**
 * Thrown if another reversal is recorded under this reversal reference; `differences` names the fields that differ. The
 * first reversal stays valid, and this one is **not** recorded.
 *
 * @example
 * await client.reversePayment("LN-1001", returned).catch((error: unknown) => {
 *   if (!(error instanceof ReversalConflictError)) throw error;
 *   console.error(`${error.original.reversalReference} has another ${error.differences.join(", ")}`);
 * });
 */
export class ReversalConflictError extends ProblemError {
  override readonly name = "ReversalConflictError";
  readonly original: OriginalReversal;
  readonly differences: readonly string[];

  constructor(problem: Problem) {
    super(problem);
    this.original = problem["original"] as OriginalReversal;
    this.differences = problem["differences"] as readonly string[];
  }
}

/** Builds the request's body. Throws InvalidAmountError. */
export function bodyOfReversal({ amount, ...returned }: ReturnedPayment): Record<string, unknown> {
  return { ...returned, ...(amount !== undefined && { amount: new AmountLiteral(amount, "amount") }) };
}

/** Returns the original reversal from a 409. Throws ReversalConflictError if that reversal is a different one. */
export function repeatedReversal(conflict: ProblemError): Reversal {
  const { original, matches } = conflict.problem as { original?: OriginalReversal; matches?: boolean };
  if (original === undefined) throw conflict;
  if (matches !== true) throw new ReversalConflictError(conflict.problem);
  return { ...original, repeated: true, requestId: conflict.problem.requestId };
}
