import type { CurrencyCode } from "@collections/money";
import type { CaseDetails } from "./case-details.ts";
import type { CaseState } from "./transitions.ts";
import type { Disposition } from "./disposition.ts";

/** Identifies a case by its lender and its id. */
export interface CaseKey {
  readonly lenderId: string;
  readonly caseId: string;
}

/** Identifies a loan by its lender and the lender's loan number. */
export interface LoanKey {
  readonly lenderId: string;
  readonly loan: string;
}

/**
 * A case whose row the transaction has locked, without the details that only imports need. Amounts are in minor units
 * of `currency`.
 */
export interface LockedCase extends CaseState {
  readonly lenderId: string;
  readonly id: string;
  readonly sourceLoanNumber: string;
  readonly cycle: number;
  readonly isCurrent: boolean;
  readonly currency: CurrencyCode;
  readonly placedMinor: bigint;
  readonly outstandingMinor: bigint;
  /** The sum of all captured payments minus everything that was reversed, including the excess. */
  readonly totalCollectedMinor: bigint;
  readonly excessMinor: bigint;
  /**
   * The highest value of outstanding + applied in this cycle, where applied is `totalCollectedMinor - excessMinor`. A
   * new balance may raise it; a payment or a reversal never does. It is null if a process of an older version, which did not know
   * this column, created the case. The next import or confirmation then stores the derived value.
   */
  readonly peakMinor: bigint | null;
  readonly minimumMinor: bigint | null;
  /** The balance includes the payments captured up to this time, and no later ones. Null: the time is not known. */
  readonly outstandingAsOf: Date | null;
  readonly lastPaymentAt: Date | null;
  readonly lastVisitId: string | null;
  readonly lastDisposition: Disposition | null;
  /** The borrower must not be contacted before this day, `YYYY-MM-DD`. */
  readonly doNotContactUntil: string | null;
  /** When the borrower's personal data were erased. Null if the case has them. */
  readonly erasedAt: Date | null;
}

/** The lender's newest balance of a loan, as the row said it. Amounts are in minor units of the case's currency. */
export interface LoanBalance {
  /** Null if no row has set the balance since this column exists. */
  readonly balanceMinor: bigint | null;
  /** The `outstandingAsOf` of the row. Null if the row had none: see `balanceSequence`. */
  readonly balanceAsOf: Date | null;
  /**
   * The number of the loan's last event before or with the row. A balance without a date includes everything that was
   * recorded up to this event.
   */
  readonly balanceSequence: bigint | null;
}

/**
 * A case whose row the transaction has locked, with the lender's newest balance and all details that an import row may
 * change.
 */
export interface ImportedCase extends LockedCase, CaseDetails, LoanBalance {}
