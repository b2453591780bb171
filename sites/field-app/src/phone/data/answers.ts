/** The API's answers, with the fields that the app requests: see operations.ts. */
export interface Money {
  readonly minor: string;
  readonly currency: string;
  /** The amount in major units, with as many decimals as its currency has. */
  readonly decimal: string;
}

export interface Promised {
  readonly amount: Money;
  readonly dueOn: string;
}

export type LinkStatus = "REQUESTED" | "MINTED" | "SENT" | "UNAVAILABLE" | "SUPERSEDED" | "PAID";

/** A case in a list. */
export interface CaseRow {
  readonly id: string;
  readonly loanTail: string;
  readonly status: string;
  readonly workable: boolean;
  readonly blockedReason: string | null;
  readonly blockedReasonCode: string | null;
  readonly dpd: number | null;
  readonly bucket: string | null;
  readonly outstanding: Money;
  readonly borrower: { readonly displayName: string; readonly address: string | null };
  readonly lender: { readonly name: string; readonly code: string };
  readonly openPromise: Promised | null;
  readonly activeLink: { readonly id: string; readonly status: LinkStatus } | null;
  readonly distanceM: number | null;
  readonly isShrunk: boolean;
}

export interface Edges<Item> {
  readonly edges: readonly { readonly node: Item }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

export interface TodayAnswer {
  readonly viewer: {
    readonly displayName: string;
    readonly today: {
      readonly visits: number;
      readonly collected: readonly Money[];
      readonly earned: readonly Money[];
    };
  };
  readonly cases: { readonly edges: readonly { readonly node: CaseRow }[] };
}

/** How many cases of a list have each value. */
export interface CaseFacets {
  readonly lender: readonly { readonly lender: CaseRow["lender"]; readonly count: number }[];
  readonly city: readonly TextCount[];
  readonly bucket: readonly TextCount[];
}

export interface TextCount {
  readonly value: string;
  readonly count: number;
}

export interface CasesAnswer {
  readonly cases: Edges<CaseRow>;
}

export interface CaseAnswer {
  readonly case: WholeCase | null;
}

/** One page of a sync. */
export interface SyncedCases {
  readonly cursor: string;
  readonly hasMore: boolean;
  readonly isFull: boolean;
  readonly goneCaseIds: readonly string[];
  readonly cases: readonly WholeCase[];
}

export interface EstimateAnswer {
  readonly case: Pick<WholeCase, "estimatedEarning"> | null;
}

export interface LinesAnswer {
  readonly earningLines: Edges<EarningLine>;
}

export interface MeAnswer {
  readonly viewer: { readonly displayName: string; readonly timeZone: string };
  readonly sessions: readonly Session[];
}

export interface Fallback {
  readonly upiUri: string | null;
  readonly instructions: string | null;
  readonly bankAccount: {
    readonly accountNumber: string;
    readonly accountName: string | null;
    readonly bankName: string | null;
    readonly ifsc: string | null;
    readonly swift: string | null;
  } | null;
}

export interface Visit {
  readonly visitId: string;
  readonly startedAt: string;
  readonly completedAt: string | null;
  readonly disposition: string | null;
  readonly note: string | null;
  readonly isMine: boolean;
}

/** A case with everything that the screen of one case shows. */
export interface WholeCase extends Omit<CaseRow, "borrower" | "distanceM"> {
  /** The public id, such as case_…, which begins with the time at which the case was made. */
  readonly caseId: string;
  readonly minimum: Money | null;
  readonly totalCollected: Money;
  readonly borrower: CaseRow["borrower"] & {
    readonly maskedPhone: string;
    readonly position: { readonly latitude: number; readonly longitude: number } | null;
  };
  readonly estimatedEarning: { readonly amount: Money; readonly calculation: Calculation };
  readonly earnings: readonly CaseEarning[];
  /** Missing in an answer that an earlier version of the app has stored. The same applies to the other optional fields. */
  readonly reversals?: readonly Reversal[];
  readonly visits: { readonly edges: readonly { readonly node: Visit }[] };
  readonly fallback: Fallback;
}

/** How an earning was calculated: a percentage of an amount. */
export interface Calculation {
  /** A decimal number, such as 2.5. */
  readonly percent: string;
  readonly base: Money;
  /** The amount before a reversal, for a line that a reversal has made. */
  readonly baseBefore: Money | null;
}

/** An earning, as its case shows it. */
export interface CaseEarning {
  readonly amount: Money;
  readonly status: EarningStatus;
  readonly calculation: Calculation;
  /** The lender's reference of the payment. */
  readonly reference?: string;
  readonly reversal?: Pick<Reversal, "reversalReference"> | null;
  readonly payout?: { readonly paidOn: string } | null;
}

/** A payment that was returned, wholly or in part. */
export interface Reversal {
  readonly reversalReference: string;
  /** The lender's reference of the payment. */
  readonly reference: string;
  readonly amount: Money;
  readonly payment: Money;
  readonly reason: string;
  readonly reversedAt: string;
}

export interface Contact {
  readonly phone: string;
  readonly alternatePhones: readonly string[];
  readonly email: string | null;
}

export interface PaymentLink {
  readonly id: string;
  readonly amount: Money;
  readonly status: LinkStatus;
  readonly url: string | null;
  readonly unavailableReason: string | null;
  readonly unavailableReasonCode: string | null;
  readonly paidAt: string | null;
  readonly reversedAt: string | null;
  readonly deliveries: readonly {
    readonly channel: "EMAIL" | "WHATSAPP";
    readonly status: string;
    readonly failureCode: string | null;
  }[];
  readonly fallback: Fallback | null;
}

export type EarningStatus = "PENDING" | "CREDITED" | "PAID_OUT" | "REVERSED";

export interface Earnings {
  readonly earned: readonly Money[];
  readonly pending: readonly Money[];
  readonly credited: readonly Money[];
  readonly paidOut: readonly Money[];
  readonly deducted?: readonly Money[];
}

export interface EarningLine {
  readonly id: string;
  readonly amount: Money;
  readonly status: EarningStatus;
  readonly calculation: Calculation;
  readonly earnedAt: string;
  /** The case of the payment; null if the field partner no longer has the case. */
  readonly case:
    | (Pick<CaseRow, "id" | "loanTail" | "lender" | "isShrunk"> & {
        readonly borrower: Pick<CaseRow["borrower"], "displayName">;
      })
    | null;
  readonly reversal?: Pick<Reversal, "amount" | "payment" | "reason"> | null;
  readonly payout: { readonly reference: string; readonly paidOn: string } | null;
}

export interface Session {
  readonly id: string;
  readonly deviceName: string | null;
  readonly startedAt: string;
  readonly refreshedAt: string | null;
  readonly isCurrent: boolean;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** A mutation's result: its payload, or a refusal with `code` and `message`. */
export type Result<Payload> =
  | ({ readonly __typename: string; readonly code?: undefined; readonly isHeld?: undefined } & Payload)
  | ({ readonly __typename: string } & Refusal);

export interface Refusal {
  readonly code: string;
  /** The service's message, in English. */
  readonly message: string;
  /** Only for `AMOUNT_NOT_ALLOWED`: the amounts that a link may request. */
  readonly minimum?: Money;
  readonly maximum?: Money;
  /**
   * Only for `VISIT_NOT_FOUND`: true if the service has queued the mutation and will process it when the start of the
   * visit arrives.
   */
  readonly isHeld?: boolean;
}
