import { type Amount, AmountLiteral } from "./amount.ts";
import type { Answer, Warning } from "./answer.ts";

/**
 * One of your own payments, to compare with the booked payments. contract: Reconciliation
 *
 * @example
 * const row: PaymentToReconcile = { loan: "LN-1001", reference: "pay_Nx81", amount: "2500.50", paidAt: new Date() };
 */
export interface PaymentToReconcile {
  readonly loan: string;
  /** The reference with which you confirm the payment. */
  readonly reference: string;
  /** Major units as text, such as `"2500.50"`, in the currency of the loan's case. */
  readonly amount: Amount;
  /** ISO 8601 with `Z` or an offset, or a Date. */
  readonly paidAt?: string | Date | null;
}

/** A window of time, and all your payments in it: at most 10,000. contract: Reconciliation */
export interface ReconciliationRequest {
  /** The beginning of the window, which is included: ISO 8601 with `Z` or an offset, or a Date. */
  readonly from: string | Date;
  /** The end of the window, which is not included, at most 32 days later. */
  readonly to: string | Date;
  readonly rows: readonly PaymentToReconcile[];
}

/** A payment as your row reports it. */
export interface ReportedPayment {
  /** The position of the row in the request, from 0. */
  readonly index: number;
  readonly amount: Amount;
  readonly currency: string;
  readonly paidAt: string | null;
}

/** A payment as it is booked. */
export interface ReconciledBooking {
  readonly loan: string;
  readonly reference: string;
  /** The booked amount, with its parts. */
  readonly amount: Amount;
  /** The part of the amount that was reversed. */
  readonly reversedAmount: Amount;
  readonly currency: string;
  readonly paidAt: string;
}

/** A payment that you report, and that is not booked. */
export interface MissingPayment {
  readonly loan: string;
  readonly reference: string;
  readonly yours: ReportedPayment;
  /** The call that books the payment, or null if you have no case for the loan. */
  readonly confirm: {
    readonly method: "POST";
    readonly path: string;
    readonly body: {
      readonly amount: Amount;
      readonly reference: string;
      /** Absent if your row has no time. */
      readonly paidAt?: string;
      /** `other`: replace it by the mode of the payment. */
      readonly mode: string;
    };
  } | null;
}

/** A payment of the window that is booked, and that you do not report. */
export interface UnreportedPayment {
  readonly loan: string;
  readonly reference: string;
  readonly ours: ReconciledBooking;
}

/** A payment that you report, and that is booked with other values, as `yours` and `ours` show. */
export interface DifferingPayment {
  readonly loan: string;
  readonly reference: string;
  readonly yours: ReportedPayment;
  readonly ours: ReconciledBooking;
}

/** A payment that you report, where your row or the booked payment has a time outside the window. */
export interface PaymentOfOtherTime {
  readonly loan: string;
  readonly reference: string;
  readonly yours: ReportedPayment;
  /** Null if the payment is not booked. */
  readonly ours: ReconciledBooking | null;
}

/** A row that could not be compared. */
export interface RejectedPayment {
  readonly index: number;
  readonly loan: string | null;
  readonly reference: string | null;
  readonly errors: readonly { readonly code: string; readonly pointer: string; readonly detail: string }[];
}

/** The number and the sum of payments in one currency. */
export interface PaymentTotal {
  readonly currency: string;
  readonly count: number;
  readonly amount: Amount;
}

/** A stored reconciliation, without its differences. contract: Reconciliation */
export interface ReconciliationRun {
  readonly runId: string;
  readonly from: string;
  readonly to: string;
  readonly startedAt: string;
  /** The id of the key that signed the request, or `operator`. */
  readonly requestedBy: string;
  /** True if all rows and payments match. */
  readonly clean: boolean;
  /** The lengths of the lists. A list has at most 10,000 entries, even if it is longer. */
  readonly counts: {
    readonly matched: number;
    readonly onlyYours: number;
    readonly onlyOurs: number;
    readonly referenceDiffers: number;
    readonly amountDiffers: number;
    readonly onOtherLoan: number;
    readonly otherDay: number;
    readonly outsideWindow: number;
    readonly reversed: number;
    readonly rejected: number;
  };
  readonly yours: readonly PaymentTotal[];
  readonly ours: readonly PaymentTotal[];
}

/** One page of stored reconciliations, the latest first. */
export interface ReconciliationPage extends Answer {
  readonly success: true;
  readonly reconciliations: readonly ReconciliationRun[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
  readonly warnings?: readonly Warning[];
}

/** The result of a reconciliation. contract: Reconciliation */
export interface Reconciliation extends ReconciliationRun, Answer {
  readonly success: true;
  readonly onlyYours: readonly MissingPayment[];
  readonly onlyOurs: readonly UnreportedPayment[];
  /** Payments that are probably booked on the same loan under another reference. */
  readonly referenceDiffers: readonly DifferingPayment[];
  readonly amountDiffers: readonly DifferingPayment[];
  readonly onOtherLoan: readonly DifferingPayment[];
  readonly otherDay: readonly PaymentOfOtherTime[];
  /** Rows more than a day outside the window, perhaps because a date was misread. */
  readonly outsideWindow: readonly PaymentOfOtherTime[];
  readonly reversed: readonly DifferingPayment[];
  readonly rejected: readonly RejectedPayment[];
  /** The changes since the last run of the same window that has loans in common and matched a payment, or null. */
  readonly previous: {
    readonly runId: string;
    /** Null if a list of one of the two runs has more than 10,000 entries: only 10,000 are stored. */
    readonly goneCount: number | null;
    readonly gone: readonly { readonly list: string; readonly loan: string; readonly reference: string }[];
  } | null;
  readonly warnings?: readonly Warning[];
}

/** Builds the request's body. Throws InvalidAmountError. */
export function bodyOfReconciliation({ from, to, rows }: ReconciliationRequest): Record<string, unknown> {
  const literals = rows.map(({ loan, reference, amount, paidAt }, index) => ({
    loan,
    reference,
    amount: new AmountLiteral(amount, `rows[${index}].amount`),
    paidAt,
  }));
  return { from, to, rows: literals };
}
