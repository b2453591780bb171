/** Which reconciliations to show. */
export interface ReconciliationsSearch {
  readonly lender: string | undefined;
  readonly after: string | undefined;
}

/** A page of the stored reconciliations of one lender, in its local time. */
export interface ReconciliationsPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  /** Undefined if there is no such lender. */
  readonly lenderCode: string | undefined;
  readonly timeZone: string | undefined;
  readonly reconciliations: readonly {
    readonly runId: string;
    readonly from: string;
    readonly to: string;
    readonly requestedBy: string;
    readonly fileName: string | null;
    readonly matched: number;
    readonly differences: number;
  }[];
  /** The `after` of the next page; null on the last page. */
  readonly next: string | null;
}

/** Which reconciliation to show, and which of its differences. */
export interface DifferencesSearch {
  readonly lender: string;
  readonly runId: string;
  readonly list: string | undefined;
  readonly after: string | undefined;
}

/** A stored reconciliation, with a page of one list of its differences. */
export interface ReconciliationView {
  readonly lenderCode: string;
  readonly runId: string;
  readonly timeZone: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly lists: readonly { readonly name: string; readonly count: number; readonly meaning: string }[];
  /** The list of `differences`. Undefined if there are no differences. */
  readonly list: string | undefined;
  readonly differences: readonly {
    /** The line of the file; null for a payment that the file does not have. */
    readonly line: string | null;
    /** The loan and the reference are null in a rejected line that does not have them. */
    readonly loan: string | null;
    readonly reference: string | null;
    readonly inFile: string | null;
    readonly booked: string | null;
    readonly paidAt: string | null;
    readonly about: string;
  }[];
  /** The `after` of the next page; null on the last page. */
  readonly next: string | null;
}
