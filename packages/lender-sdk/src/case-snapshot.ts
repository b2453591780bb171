import type { Amount } from "./amount.ts";
import type { Answer } from "./answer.ts";

/** The status of a case (contract: States and transitions). Later versions of the service may add statuses. */
export type CaseStatus =
  | "new"
  | "assigned"
  | "in_progress"
  | "on_hold"
  | "collected"
  | "closed"
  | "withdrawn"
  | (string & {});

/** The state of a loan that events and snapshots both contain. The values are absolute: store them as they are. */
export interface LoanState {
  readonly sourceLoanNumber: string;
  /** The sequence of the last event that this state includes. */
  readonly sequence: number;
  readonly caseId: string;
  readonly cycle: number;
  readonly status: CaseStatus;
  readonly currency: string;
  /** Everything captured on the case minus everything reversed. */
  readonly totalCollected: Amount;
  readonly outstandingAfter: Amount;
}

/** A confirmed payment of the case. `paidAt` is the time that you sent, `recordedAt` is the service's time. */
export interface BookedPayment {
  readonly reference: string;
  readonly amount: Amount;
  readonly mode: string;
  readonly paidAt: string;
  readonly linkId: string | null;
  /** The reference of the payment that this payment completes. Null for a payment of its own. */
  readonly partOf: string | null;
  readonly recordedAt: string;
  readonly reversals: readonly PaymentReversal[];
}

/** A reversal of a payment, or of a part of it. */
export interface PaymentReversal {
  readonly reversalReference: string;
  readonly amount: Amount;
  readonly reason: string;
  readonly reversedAt: string;
  readonly recordedAt: string;
}

/** The current case of a loan at one moment. contract: GET cases/{loan} */
export interface CaseSnapshot extends LoanState, Answer {
  readonly statusReason: string | null;
  readonly fieldWork: "open" | "blocked";
  readonly placedAmount: Amount;
  readonly totalReversed: Amount;
  readonly excessAmount: Amount;
  readonly dpd: number | null;
  readonly bucket: string | null;
  readonly assignedFieldPartner: { readonly id: string; readonly displayName: string } | null;
  readonly lastVisit: {
    readonly visitId: string;
    readonly completedAt: string | null;
    readonly disposition: string | null;
  } | null;
  readonly activeLink: {
    readonly linkId: string;
    readonly amount: Amount;
    readonly status: string;
    readonly createdAt: string;
  } | null;
  /** The latest 50 payments. */
  readonly payments: readonly BookedPayment[];
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly closedAt: string | null;
  readonly closeReason: string | null;
  readonly serverTime: string;
  /**
   * Identifies this state of the case. Pass it to `getCaseIfChanged`, which returns the case only if it has changed.
   */
  readonly etag: string;
}
