/** Which page of a fee statement to show. */
export interface FeesSearch {
  readonly lender: string | undefined;
  /** `YYYY-MM` */
  readonly month: string | undefined;
  readonly after: string | undefined;
}

/** A number of lines of a fee statement, and their sum. */
export interface FeeSum {
  readonly lines: number;
  readonly amount: string;
}

/** A page of what a lender pays for the commissions of one month, in its local time. */
export interface FeesPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  /** Undefined if there is no such lender. */
  readonly lenderCode: string | undefined;
  readonly timeZone: string;
  /** `YYYY-MM` */
  readonly month: string;
  /** Whether the month has ended, so that its statement no longer changes. */
  readonly isOver: boolean;
  /** The months to choose from, the latest first. */
  readonly months: readonly string[];
  /** The sums of the whole month, for each currency. `total` is `charged` minus `takenBack`. */
  readonly totals: readonly {
    readonly currency: string;
    readonly charged: FeeSum;
    readonly takenBack: FeeSum;
    readonly total: string;
  }[];
  readonly lines: readonly {
    readonly kind: "commission" | "increase" | "decrease";
    readonly recordedAt: string;
    readonly sourceLoanNumber: string;
    readonly reference: string;
    readonly paymentAmount: string;
    readonly commissionPercent: string | null;
    /** Null for a decrease. */
    readonly fee: string | null;
    /** Null unless the line is a decrease. */
    readonly takenBack: string | null;
    readonly currency: string;
    readonly memo: string;
  }[];
  /** The `after` of the next page; null on the last page. */
  readonly next: string | null;
}

/** A text file that is sent in parts while it is made. */
export interface LongDownload {
  readonly fileName: string;
  readonly chunks: AsyncIterable<string>;
}
