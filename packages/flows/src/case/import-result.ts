import type { CheckedRow, FieldChange, RowFault, RowPlan, RowWarning } from "@collections/cases";
import { publicId } from "@collections/database";
import { toWire, type WireNumber } from "@collections/money";

/** The answer to an import, with values as in the API. `isRefused` is not part of the answer. */
export interface ImportResult {
  /** Whether no row was rejected. */
  readonly success: boolean;
  readonly dryRun: boolean;
  /** Null if no row was written: for a dry run, or an atomic import with a rejected row. */
  readonly importId: string | null;
  /** Whether the import was atomic and a row was rejected. */
  readonly isRefused: boolean;
  /** The number of received rows, in all and by outcome. */
  readonly summary: Readonly<Record<"received" | RowResult["outcome"], number>>;
  readonly results: readonly RowResult[];
}

/** The result of one row. `index` counts from 0. */
export type RowResult =
  | {
      readonly index: number;
      readonly sourceLoanNumber: string;
      readonly outcome: "created" | "updated" | "unchanged" | "reopened" | "withdrawn";
      /** Absent if the row would create a case, but the import was not stored. */
      readonly caseId?: string;
      readonly status: string;
      readonly outstandingAmount: WireNumber;
      /** The phone as it is stored, E.164. Absent if the row has none, or if the borrower's data were erased. */
      readonly borrowerPhone?: string;
      readonly sequence: number;
      readonly changes?: readonly FieldChange[];
      readonly warnings: readonly RowWarning[];
    }
  | {
      readonly index: number;
      readonly sourceLoanNumber: string | null;
      readonly outcome: "rejected";
      /** The phone as it would be stored. Absent if the row has none that can be read. */
      readonly borrowerPhone?: string;
      readonly errors: readonly RowFault[];
      /** Absent if the row has no warnings. */
      readonly warnings?: readonly RowWarning[];
    };

/** A checked row and its plan. */
export interface PlannedRow {
  readonly checked: CheckedRow;
  readonly plan: RowPlan;
}

type AcceptedOutcome = Exclude<RowResult["outcome"], "rejected">;

const SUMMARY = ["received", "created", "updated", "unchanged", "reopened", "withdrawn", "rejected"] as const;

/**
 * Rows that hold, release, settle or collect a case count as `updated`; the `status` in the result shows what happened.
 */
const OUTCOMES: Record<Exclude<RowPlan["outcome"], "rejected">, AcceptedOutcome> = {
  created: "created",
  reopened: "reopened",
  updated: "updated",
  settled: "updated",
  collected: "updated",
  held: "updated",
  released: "updated",
  withdrawn: "withdrawn",
  unchanged: "unchanged",
};

/** Builds the answer for all rows, in their order. `importId` is null if the import is not stored. */
export function importResult(
  rows: readonly PlannedRow[],
  { importId, dryRun, isRefused }: Pick<ImportResult, "importId" | "dryRun" | "isRefused">,
): ImportResult {
  const results = rows.map(({ checked, plan }): RowResult =>
    plan.outcome === "rejected"
      ? rejected(checked, plan.errors)
      : accepted(checked, plan, { isStored: importId !== null }),
  );
  const counts = Map.groupBy(results, ({ outcome }) => outcome);
  const summary = Object.fromEntries(
    SUMMARY.map((name) => [name, name === "received" ? rows.length : (counts.get(name)?.length ?? 0)]),
  ) as ImportResult["summary"];
  return {
    success: summary.rejected === 0,
    dryRun,
    importId: importId === null ? null : publicId("imp", importId),
    isRefused,
    summary,
    results,
  };
}

function accepted(
  checked: CheckedRow,
  plan: Exclude<RowPlan, { outcome: "rejected" }>,
  { isStored }: { isStored: boolean },
): RowResult {
  const { index } = checked;
  const { caseAfter, warnings } = plan;
  const hasPhone = "row" in checked && checked.row.action === "upsert" && caseAfter.erasedAt === null;
  const outcome = OUTCOMES[plan.outcome];
  const isReopenedCase = plan.outcome === "reopened" && plan.replaces === undefined;
  const exists = isStored || isReopenedCase || (outcome !== "created" && outcome !== "reopened");
  return {
    index,
    sourceLoanNumber: caseAfter.sourceLoanNumber,
    outcome,
    ...(exists && { caseId: publicId("case", caseAfter.id) }),
    status: caseAfter.status,
    outstandingAmount: toWire(caseAfter.outstandingMinor, caseAfter.currency),
    ...(hasPhone && { borrowerPhone: caseAfter.borrowerPhone }),
    sequence: Number(caseAfter.sequence),
    ...("changes" in plan && (outcome === "updated" || isReopenedCase) && { changes: plan.changes }),
    warnings,
  };
}

function rejected(checked: CheckedRow, errors: readonly RowFault[]): RowResult {
  const { index, sourceLoanNumber = null } = checked;
  const { warnings } = "row" in checked ? checked.row : checked;
  const ofRow = "row" in checked && checked.row.action === "upsert" ? checked.row.details : undefined;
  const borrowerPhone = "row" in checked ? ofRow?.borrowerPhone : checked.borrowerPhone;
  const phone = borrowerPhone === undefined ? {} : { borrowerPhone };
  return { index, sourceLoanNumber, outcome: "rejected", ...phone, errors, ...(warnings.length > 0 && { warnings }) };
}
