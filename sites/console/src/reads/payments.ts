/** Which payments or reversals to show. */
export interface PaymentsSearch {
  readonly lender: string | undefined;
  /** `payments` or `reversals`. */
  readonly kind: string | undefined;
  /** Only those that were recorded on this day or earlier. */
  readonly until: string | undefined;
  readonly before: string | undefined;
}

/** A page of the payments, or of the reversals, of one lender, in its local time. */
export interface PaymentsPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  /** Undefined if there is no such lender. */
  readonly lenderCode: string | undefined;
  readonly timeZone: string;
  readonly kind: "payments" | "reversals";
  readonly rows: readonly {
    readonly sourceLoanNumber: string;
    /** The reference of the payment, or of the reversal. */
    readonly reference: string;
    readonly amount: string;
    readonly currency: string;
    /** When the borrower paid, or when the payment was taken back. */
    readonly paidAt: string;
    readonly recordedAt: string;
    /** The mode of a payment, or the reason of a reversal. */
    readonly about: string;
    /** The reference of the payment that was taken back; null for a payment. */
    readonly ofPayment: string | null;
    /** How much of a payment was taken back; null for nothing, and for a reversal. */
    readonly reversedAmount: string | null;
  }[];
  /** The `before` of the next page; null on the last page. */
  readonly next: string | null;
}
