import assert from "node:assert/strict";
import type { CheckedRow, ImportedCase, ImportRun, RefusedRow } from "@collections/cases";
import { type ImportResult, importResult, type JudgedRow } from "./import-result.ts";

/** Rows that were refused for what their case was like: told again, they might be taken. */
export function refusedByCase(rows: readonly JudgedRow[], checked: readonly CheckedRow[]): RefusedRow[] {
  return rows.flatMap(({ checked: { index }, plan }, at) =>
    plan.outcome === "rejected" && !isWrong(checked[at]!) ? [{ index, errors: plan.errors }] : [],
  );
}

/**
 * What a request is answered that has been applied before: what was refused then is refused, and what was taken is
 * unchanged by now, however much its case has changed since.
 */
export function repeatedImport(
  checked: readonly CheckedRow[],
  current: ReadonlyMap<string | undefined, ImportedCase>,
  { id, refused }: ImportRun,
): ImportResult {
  const errorsOf = new Map(refused.map(({ index, errors }) => [index, errors]));
  const judged = checked.map((one): JudgedRow => {
    const errors = errorsOf.get(one.index) ?? (isWrong(one) ? one.errors : undefined);
    if (errors) return { checked: one, plan: { outcome: "rejected", errors } };
    const caseAfter = current.get(one.sourceLoanNumber);
    assert.ok(caseAfter, "A row that was taken has a case, and no case is ever removed.");
    const { warnings } = "row" in one ? one.row : one;
    return { checked: one, plan: { outcome: "unchanged", caseAfter, warnings } };
  });
  return importResult(judged, { importId: id, dryRun: false });
}

/** Wrong in itself, whatever the case. */
function isWrong(row: CheckedRow): row is Extract<CheckedRow, { errors: unknown }> {
  return "errors" in row && !row.assumesCurrency;
}
