/** Which page of the payouts to show. */
export interface MoneySearch {
  readonly dueAfter: string | undefined;
}

/** A page of the payouts that are due. */
export interface MoneyPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  readonly due: readonly {
    readonly fieldPartnerId: string;
    readonly displayName: string;
    readonly state: string;
    readonly currency: string;
    readonly amount: string;
    readonly lines: number;
  }[];
  readonly dueNext: string | null;
}
