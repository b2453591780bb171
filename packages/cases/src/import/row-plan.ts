import type { FieldChange } from "../case/case-details.ts";
import type { CaseStatus, NumberedEvent } from "../case/case-status.ts";
import type { ImportedCase } from "../case/locked-case.ts";
import type { LaterMoney } from "../case/loan-balance.ts";
import { peakOf } from "../case/peak.ts";
import {
  pointerTo,
  type RowFault,
  type RowFaultCode,
  type RowWarning,
  type RowWarningCode,
} from "../fields/row-fault.ts";
import type { CaseRow } from "./row.ts";

/** The inputs of a plan, besides the row and the loan's case. */
export interface PlanFacts {
  readonly lenderId: string;
  /** The id of the import. Events contain it in the form `imp_…`. */
  readonly importId: string;
  /** The id of the new case, if the row creates one. */
  readonly newCaseId: string;
  /**
   * The payments and reversals of the loan, over all cycles, after the row's `outstandingAsOf`; empty if the row has no
   * such field. Only money in the currency of the row counts.
   */
  readonly later: LaterMoney;
  /**
   * The case's field partner as events name them, if they keep a case that is reopened. Null if the case has none, or if
   * the field partner is suspended.
   */
  readonly holder: object | null;
  /** The open loan from which the row's new loan number differs only in leading zeros. Default: there is none. */
  readonly similarTo?: string | undefined;
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
      /** The excess of later payments to apply to the debt, which the balance shows to be larger than known. */
      readonly reapplied: readonly { readonly bookingId: string; readonly amountMinor: bigint }[];
      readonly warnings: readonly RowWarning[];
    }
  | {
      readonly outcome: "unchanged";
      readonly caseAfter: ImportedCase;
      /** Whether the balance, its date or the peak changed: write them with `writeBalances`, without an event. */
      readonly changesBalance: boolean;
      readonly warnings: readonly RowWarning[];
    }
  | { readonly outcome: "rejected"; readonly errors: readonly RowFault[] };

/** Returns the plan for a row that changes at most the balance, its date and the peak of the case. */
export function unchanged(before: ImportedCase, caseAfter: ImportedCase, warnings: readonly RowWarning[]): RowPlan {
  return { outcome: "unchanged", caseAfter, changesBalance: isOtherBalance(before, caseAfter), warnings };
}

/** The sequence matters only for a balance without a date, so that a repeated row with a date writes nothing. */
function isOtherBalance(before: ImportedCase, after: ImportedCase): boolean {
  return (
    before.outstandingAsOf?.getTime() !== after.outstandingAsOf?.getTime() ||
    peakOf(before) !== peakOf(after) ||
    before.balanceMinor !== after.balanceMinor ||
    before.balanceAsOf?.getTime() !== after.balanceAsOf?.getTime() ||
    (after.balanceAsOf === null && before.balanceSequence !== after.balanceSequence)
  );
}

/** Returns the plan that rejects a row for one reason. `field` is the field of the row that has to change. */
export function rejected(row: CaseRow, code: RowFaultCode, field: string, detail: string): RowPlan {
  return { outcome: "rejected", errors: [{ code, pointer: pointerTo(`/rows/${row.index}`, field), detail }] };
}

/** Returns a warning about a field of a row. */
export function warningOf(
  row: Pick<CaseRow, "index">,
  code: RowWarningCode,
  field: string,
  detail: string,
): RowWarning {
  return { code, pointer: pointerTo(`/rows/${row.index}`, field), detail };
}
