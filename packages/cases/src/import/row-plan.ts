import type { FieldChange } from "../case/case-details.ts";
import type { CaseStatus, NumberedEvent } from "../case/case-status.ts";
import type { ImportedCase } from "../case/locked-case.ts";
import { peakOf } from "../case/peak.ts";
import {
  pointerTo,
  type RowFault,
  type RowFaultCode,
  type RowWarning,
  type RowWarningCode,
} from "../fields/row-fault.ts";
import type { CaseRow } from "./row.ts";

/**
 * A booked payment that was captured after the row's `outstandingAsOf`, so that the row's balance does not include it.
 */
export interface LaterPayment {
  readonly reference: string;
  /** The whole amount of the payment, in minor units of the case's currency. */
  readonly amountMinor: bigint;
  readonly paidAt: Date;
}

/** A reversal that happened after the row's `outstandingAsOf`, so that the row's balance does not include it. */
export interface LaterReversal {
  /** The reference of the payment. */
  readonly reference: string;
  /** The reversed amount, in minor units of the case's currency. */
  readonly amountMinor: bigint;
}

/** The inputs of a plan, besides the row and the loan's case. */
export interface PlanFacts {
  readonly lenderId: string;
  /** The id of the import. Events contain it in the form `imp_…`. */
  readonly importId: string;
  /** The id of the new case, if the row creates one. */
  readonly newCaseId: string;
  /** The payments of the loan with a `paidAt` after the row's `outstandingAsOf`; empty if the row has no such field. */
  readonly laterPayments: readonly LaterPayment[];
  /** The reversals of the loan's payments with a `reversedAt` after the row's `outstandingAsOf`. Default: none. */
  readonly laterReversals?: readonly LaterReversal[];
  readonly now: Date;
}

/** An event to emit for a row, with the status of the case and the `data` of its body. */
export interface PlannedEvent extends NumberedEvent {
  readonly status: CaseStatus;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The outcomes with which a row creates or changes a case. */
export type AppliedOutcome =
  | "created"
  | "reopened"
  | "updated"
  | "settled"
  | "collected"
  | "held"
  | "released"
  | "withdrawn";

/** The plan for one row. `planRow` writes nothing; the caller passes `caseAfter` to the functions that write cases. */
export type RowPlan =
  | {
      readonly outcome: AppliedOutcome;
      readonly caseAfter: ImportedCase;
      /** The case of the previous cycle, which is no longer the current case of the loan. */
      readonly replaces: ImportedCase | undefined;
      readonly changes: readonly FieldChange[];
      readonly events: readonly PlannedEvent[];
      /** The amount to book as the placement of a new case; at least 0. */
      readonly placementMinor: bigint;
      /** The amount to book as an adjustment of the balance, with its sign. */
      readonly adjustmentMinor: bigint;
      readonly warnings: readonly RowWarning[];
    }
  | {
      readonly outcome: "unchanged";
      readonly caseAfter: ImportedCase;
      /** Whether `outstandingAsOf` or the peak changed: write them with `writeBalanceDates`, without an event. */
      readonly movesBalanceDate: boolean;
      readonly warnings: readonly RowWarning[];
    }
  | { readonly outcome: "rejected"; readonly errors: readonly RowFault[] };

/** Returns the plan for a row that changes at most `outstandingAsOf` and the peak of the case. */
export function unchanged(before: ImportedCase, caseAfter: ImportedCase, warnings: readonly RowWarning[]): RowPlan {
  const movesBalanceDate =
    before.outstandingAsOf?.getTime() !== caseAfter.outstandingAsOf?.getTime() || peakOf(before) !== peakOf(caseAfter);
  return { outcome: "unchanged", caseAfter, movesBalanceDate, warnings };
}

/** Returns the plan that rejects a row for one reason. `field` is the field of the row that has to change. */
export function rejected(row: CaseRow, code: RowFaultCode, field: string, detail: string): RowPlan {
  return { outcome: "rejected", errors: [{ code, pointer: pointerTo(`/rows/${row.index}`, field), detail }] };
}

/** Returns a warning about a field of a row. */
export function warningOf(row: CaseRow, code: RowWarningCode, field: string, detail: string): RowWarning {
  return { code, pointer: pointerTo(`/rows/${row.index}`, field), detail };
}
