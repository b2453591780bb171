/** A delivery as a row of a list. */
export interface ListedDelivery {
  readonly eventId: string;
  readonly lenderCode: string;
  /** The code of the kind of event; `what` has its words. */
  readonly kind: string;
  readonly what: string;
  readonly sourceLoanNumber: string;
  readonly state: string;
  readonly attempts: number;
  /** The last error with its code, if it has one. Null before the first failure. */
  readonly lastError: { readonly code: string | null; readonly sentence: string } | null;
  /** A local time, with its time zone. */
  readonly createdAt: string;
}
