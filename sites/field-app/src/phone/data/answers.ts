/** The API's answers, with the fields that the app requests: see operations.ts. */
export interface Shown {
  readonly display: string;
}

export interface Money extends Shown {
  readonly minor: string;
  readonly currency: string;
  /** The amount in major units, with as many decimals as its currency has. */
  readonly decimal: string;
}

export interface Promised {
  readonly amount: Shown;
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
  readonly dpd: number | null;
  readonly bucket: string | null;
  readonly outstanding: Shown;
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
      readonly collected: readonly Shown[];
      readonly earned: readonly Shown[];
    };
  };
  readonly cases: { readonly edges: readonly { readonly node: CaseRow }[] };
}

export interface CasesAnswer {
  readonly cases: Edges<CaseRow>;
}

export interface CaseAnswer {
  readonly case: WholeCase | null;
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
  readonly qrSvg: string | null;
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
export interface WholeCase extends Omit<CaseRow, "outstanding" | "borrower" | "distanceM" | "bucket"> {
  readonly outstanding: Money;
  readonly minimum: Money | null;
  readonly totalCollected: Money;
  readonly borrower: CaseRow["borrower"] & { readonly maskedPhone: string };
  readonly estimatedEarning: { readonly amount: Shown; readonly formula: string };
  readonly earnings: readonly CaseEarning[];
  /** Missing in an answer that an earlier version of the app has stored. The same applies to the other optional fields. */
  readonly reversals?: readonly Reversal[];
  readonly visits: { readonly edges: readonly { readonly node: Visit }[] };
  readonly fallback: Fallback;
}

/** An earning, as its case shows it. */
export interface CaseEarning {
  readonly amount: Money;
  readonly status: EarningStatus;
  readonly formula: string;
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
  readonly earned: readonly Shown[];
  readonly pending: readonly Shown[];
  readonly credited: readonly Shown[];
  readonly paidOut: readonly Shown[];
  readonly deducted?: readonly Money[];
}

export interface EarningLine {
  readonly id: string;
  readonly amount: Money;
  readonly status: EarningStatus;
  readonly formula: string;
  readonly earnedAt: string;
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
  readonly message: string;
  /**
   * Only for `VISIT_NOT_FOUND`: true if the service has queued the mutation and will process it when the start of the
   * visit arrives.
   */
  readonly isHeld?: boolean;
}
