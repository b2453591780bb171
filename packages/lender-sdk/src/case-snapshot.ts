import type { Amount } from "./amount.ts";
import type { Answer } from "./answer.ts";

/** Where a case stands (contract: States and transitions); any other text is a status that came later. */
export type CaseStatus =
  | "new"
  | "assigned"
  | "in_progress"
  | "on_hold"
  | "collected"
  | "closed"
  | "withdrawn"
  | (string & {});

/** What events and snapshots both say of a loan: absolute values, to be stored as they are. */
export interface LoanState {
  readonly sourceLoanNumber: string;
  /** The loan's last event that is in this state. */
  readonly sequence: number;
  readonly caseId: string;
  readonly cycle: number;
  readonly status: CaseStatus;
  readonly currency: string;
  readonly totalCollected: Amount;
  readonly outstandingAfter: Amount;
}

/** A payment of the case, as it was confirmed. `paidAt` is your time of it, `recordedAt` the service's. */
export interface BookedPayment {
  readonly reference: string;
  readonly amount: Amount;
  readonly mode: string;
  readonly paidAt: string;
  readonly linkId: string | null;
  readonly recordedAt: string;
}

/** The current case of a loan, read at one moment. contract: GET cases/{loan} */
export interface CaseSnapshot extends LoanState, Answer {
  readonly statusReason: string | null;
  readonly fieldWork: "open" | "blocked";
  readonly placedAmount: Amount;
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
  /** The latest 50. */
  readonly payments: readonly BookedPayment[];
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly closedAt: string | null;
  readonly closeReason: string | null;
  readonly serverTime: string;
  /** For `getCaseIfChanged`. */
  readonly etag: string;
}
