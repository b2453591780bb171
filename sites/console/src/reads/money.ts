/** Which pages of the lists to show. */
export interface MoneySearch {
  readonly lender: string | undefined;
  readonly dueAfter: string | undefined;
  readonly runsAfter: string | undefined;
}

/** The payouts that are due, and the reconciliations of one lender, in its local time. */
export interface MoneyPage {
  readonly lenderCodes: readonly string[];
  readonly lenderCode: string | undefined;
  readonly due: readonly {
    readonly fieldPartnerId: string;
    readonly displayName: string;
    readonly state: string;
    readonly currency: string;
    readonly amount: string;
    readonly lines: number;
  }[];
  readonly dueNext: string | null;
  readonly reconciliations: readonly {
    readonly runId: string;
    readonly from: string;
    readonly to: string;
    readonly requestedBy: string;
    readonly fileName: string | null;
    readonly matched: number;
    readonly differences: number;
  }[];
  readonly runsNext: string | null;
}
