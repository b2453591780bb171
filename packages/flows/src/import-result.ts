import type { CaseRow, CheckedRow, FieldChange, RowFault, RowPlan, RowWarning } from "@collections/cases";
import { publicId } from "@collections/database";
import { toWire, type WireNumber } from "@collections/money";

/** What an import answers, in the values of the wire. */
export interface ImportResult {
  /** No row was rejected. */
  readonly success: boolean;
  readonly dryRun: boolean;
  readonly importId: string | null;
  readonly summary: Readonly<Record<(typeof SUMMARY)[number], number>>;
  readonly results: readonly RowResult[];
}

export type RowResult =
  | {
      readonly index: number;
      readonly sourceLoanNumber: string;
      readonly outcome: AcceptedOutcome;
      /** Absent for a case that a rehearsal would have made. */
      readonly caseId?: string;
      readonly status: string;
      readonly outstandingAmount: WireNumber;
      readonly sequence: number;
      readonly changes?: readonly FieldChange[];
      readonly warnings: readonly RowWarning[];
    }
  | {
      readonly index: number;
      readonly sourceLoanNumber: string | null;
      readonly outcome: "rejected";
      readonly errors: readonly RowFault[];
    };

/** A row that could be read, and what is to be done about it. */
export interface PlannedRow {
  readonly row: CaseRow;
  readonly plan: RowPlan;
}

type AcceptedOutcome = "created" | "updated" | "unchanged" | "reopened" | "withdrawn";

const SUMMARY = ["received", "created", "updated", "unchanged", "reopened", "withdrawn", "rejected"] as const;

/** A held, released or settled case is an updated one: its status says which. */
const OUTCOMES: Record<Exclude<RowPlan["outcome"], "rejected">, AcceptedOutcome> = {
  created: "created",
  reopened: "reopened",
  updated: "updated",
  settled: "updated",
  held: "updated",
  released: "updated",
  withdrawn: "withdrawn",
  unchanged: "unchanged",
};

/** The answer for all rows, in their order. */
export function importResult(
  checked: readonly CheckedRow[],
  planned: ReadonlyMap<number, PlannedRow>,
  { importId, dryRun }: { importId: string; dryRun: boolean },
): ImportResult {
  const results = checked.map((one): RowResult => {
    if ("errors" in one) return rejected(one.index, one.sourceLoanNumber ?? null, one.errors);
    const { plan } = planned.get(one.index)!;
    if (plan.outcome === "rejected") return rejected(one.index, one.sourceLoanNumber, plan.errors);
    return accepted(one.index, plan, dryRun);
  });
  const counts = Map.groupBy(results, ({ outcome }) => outcome);
  const summary = Object.fromEntries(
    SUMMARY.map((name) => [name, name === "received" ? checked.length : (counts.get(name)?.length ?? 0)]),
  ) as ImportResult["summary"];
  return {
    success: summary.rejected === 0,
    dryRun,
    importId: dryRun ? null : publicId("imp", importId),
    summary,
    results,
  };
}

function accepted(index: number, plan: Exclude<RowPlan, { outcome: "rejected" }>, dryRun: boolean): RowResult {
  const { caseAfter, warnings } = plan;
  const outcome = OUTCOMES[plan.outcome];
  const wouldBeMade = dryRun && (outcome === "created" || outcome === "reopened");
  return {
    index,
    sourceLoanNumber: caseAfter.sourceLoanNumber,
    outcome,
    ...(!wouldBeMade && { caseId: publicId("case", caseAfter.id) }),
    status: caseAfter.status,
    outstandingAmount: toWire(caseAfter.outstandingMinor, caseAfter.currency),
    sequence: Number(caseAfter.sequence),
    ...(outcome === "updated" && "changes" in plan && { changes: plan.changes }),
    warnings,
  };
}

function rejected(index: number, sourceLoanNumber: string | null, errors: readonly RowFault[]): RowResult {
  return { index, sourceLoanNumber, outcome: "rejected", errors };
}
