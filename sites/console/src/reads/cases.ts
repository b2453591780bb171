/** Which cases to show. */
export interface CasesSearch {
  readonly lender: string | undefined;
  readonly status: string | undefined;
  readonly holder: string | undefined;
  readonly dpd: string | undefined;
  readonly text: string | undefined;
  readonly after: string | undefined;
}

/** A page of a lender's cases, and the choices of the filters. */
export interface CasesPage {
  readonly lenderCodes: readonly string[];
  readonly statuses: readonly string[];
  readonly dpds: readonly string[];
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
