/** Which cases to show. */
export interface CasesSearch {
  readonly lender: string | undefined;
  readonly status: string | undefined;
  readonly holder: string | undefined;
  readonly dpd: string | undefined;
  /** A day `YYYY-MM-DD`: only cases with an open promise for it. */
  readonly promise: string | undefined;
  readonly text: string | undefined;
  readonly order: string | undefined;
  readonly after: string | undefined;
}

/** An order of the cases: the newest import first, or by the loan number. */
export type CaseOrder = "newest" | "loan" | "loan-descending";

/** A page of a lender's cases, and the choices of the filters. */
export interface CasesPage {
  readonly lenderCodes: readonly string[];
  readonly statuses: readonly string[];
  readonly dpds: readonly string[];
  /** The orders that the filters permit, besides that of the import. */
  readonly orders: readonly CaseOrder[];
  /** Undefined for the order of the import. */
  readonly order: CaseOrder | undefined;
  /** The number of cases of each choice, such as `1,000+`, if it is known. Undefined if the filters permit no counts. */
  readonly counts:
    | {
        readonly statuses: Readonly<Record<string, string>>;
        readonly dpds: Readonly<Record<string, string>>;
        readonly holders: Readonly<Record<string, string>>;
      }
    | undefined;
  /** Undefined if there is no such lender. */
  readonly lenderCode: string | undefined;
  readonly timeZone: string;
  readonly cases: readonly {
    readonly lenderCode: string;
    readonly sourceLoanNumber: string;
    readonly status: string;
    readonly borrowerName: string;
    readonly outstandingAmount: string;
    readonly currency: string;
    readonly dpd: number | null;
    readonly fieldPartnerId: string | null;
    readonly fieldPartnerName: string | null;
    readonly promiseDueOn: string | null;
    /** A local time in `timeZone`. */
    readonly lastVisit: string | null;
  }[];
  /** The `after` of the next page; null on the last page. */
  readonly next: string | null;
  /** Whether the page is full. If not, and `next` is not null, more cases have to be searched. */
  readonly isFull: boolean;
}
