import type { CurrencyCode } from "@collections/money";
import type { CaseDetails } from "./case-details.ts";
import type { CaseState } from "./transitions.ts";
import type { Disposition } from "./disposition.ts";

/** Which case: its lender and its id. */
export interface CaseKey {
  readonly lenderId: string;
  readonly caseId: string;
}

/** Which loan: its lender and the lender's own number of it. */
export interface LoanKey {
  readonly lenderId: string;
  readonly loan: string;
}

/** A case under its row lock, without what only an import row changes. Money in minor units of `currency`. */
export interface LockedCase extends CaseState {
  readonly lenderId: string;
  readonly id: string;
  readonly sourceLoanNumber: string;
  readonly cycle: number;
  readonly isCurrent: boolean;
  readonly currency: CurrencyCode;
  readonly placedMinor: bigint;
  readonly outstandingMinor: bigint;
  /** Everything captured, the excess included. */
  readonly totalCollectedMinor: bigint;
  readonly excessMinor: bigint;
  /**
   * The highest value of outstanding + applied in this cycle, where applied is `totalCollectedMinor - excessMinor`. A new
   * balance may raise it; a payment never does. Null on a case that a process of a version without this column made, until
   * an import or a confirmation stores the derived value.
   */
  readonly peakMinor: bigint | null;
  readonly minimumMinor: bigint | null;
  /** Payments captured up to this moment are included in the balance, later ones are not. Null: not known. */
  readonly outstandingAsOf: Date | null;
  readonly lastPaymentAt: Date | null;
  readonly lastVisitId: string | null;
  readonly lastDisposition: Disposition | null;
  /** Nobody contacts the borrower before this day, `YYYY-MM-DD`. */
  readonly doNotContactUntil: string | null;
}

/** A case with everything that an import row may change, under its row lock too. */
export interface ImportedCase extends LockedCase, CaseDetails {}
