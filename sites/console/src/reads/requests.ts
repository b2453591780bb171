/** Which requests to show. */
export interface RequestsSearch {
  readonly lender: string | undefined;
  /** `failed`, or undefined for all requests. */
  readonly result: string | undefined;
  /** A part of the path. */
  readonly path: string | undefined;
  readonly before: string | undefined;
}

/** A page of the requests of one lender to the REST API, the latest first, in its local time. */
export interface RequestsPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  /** Undefined if there is no such lender. */
  readonly lenderCode: string | undefined;
  readonly timeZone: string;
  readonly onlyFailed: boolean;
  readonly requests: readonly {
    readonly requestId: string;
    readonly receivedAt: string;
    readonly keyId: string;
    /** Whether the signature was right. If not, the sender may know only the id of the key. */
    readonly isSigned: boolean;
    readonly method: string;
    /** Without the query string. */
    readonly path: string;
    readonly status: number;
    /** The code of an error; null for a success. */
    readonly code: string | null;
    readonly durationMs: number;
  }[];
  /** The `before` of the next page; null on the last page. */
  readonly next: string | null;
  /** Whether the page is full. If not, and `next` is not null, more requests have to be searched. */
  readonly isFull: boolean;
}
