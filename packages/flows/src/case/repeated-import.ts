import assert from "node:assert/strict";
import type { CheckedRow, ImportedCase, ImportRun, RefusedRow, RowFault } from "@collections/cases";
import { type ImportResult, importResult, type JudgedRow } from "./import-result.ts";

/** Rows that were rejected because of the state of their case: a repeat could find another state and apply them. */
export function refusedByCase(rows: readonly JudgedRow[], checked: readonly CheckedRow[]): RefusedRow[] {
  return rows.flatMap(({ checked: { index }, plan }, at) =>
    plan.outcome === "rejected" && !isWrong(checked[at]!) ? [{ index, errors: plan.errors.map(storable) }] : [],
  );
}

function storable(fault: RowFault): RowFault {
  return { ...fault, pointer: storableText(fault.pointer), detail: storableText(fault.detail) };
}

/** PostgreSQL stores neither NUL nor a lone surrogate in JSON, and the text may quote either from the row. */
function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

/** The rows of a repeat: those that their cases refused the first time are rejected for the same reasons. */
export function asRefusedBefore(checked: readonly CheckedRow[], refused: readonly RefusedRow[]): CheckedRow[] {
  const errorsOf = new Map(refused.map(({ index, errors }) => [index, errors]));
  return checked.map((one) => {
    const errors = errorsOf.get(one.index);
    if (!errors) return one;
    const { index, sourceLoanNumber } = one;
    const { warnings } = "row" in one ? one.row : one;
    return { index, sourceLoanNumber, assumesCurrency: false, errors, warnings };
  });
}

/**
 * Answers the repeat of an import that was applied: rows that were rejected are rejected again, and rows that were
 * taken are `unchanged`, however much their cases have changed since.
 */
export function repeatedImport(
  checked: readonly CheckedRow[],
  current: ReadonlyMap<string | undefined, ImportedCase>,
  { id }: ImportRun,
): ImportResult {
  const judged = checked.map((one): JudgedRow => {
    if (isWrong(one)) return { checked: one, plan: { outcome: "rejected", errors: one.errors } };
    const caseAfter = current.get(one.sourceLoanNumber);
    assert.ok(caseAfter, "A row that was taken has a case, and no case is ever removed.");
    const { warnings } = "row" in one ? one.row : one;
    return { checked: one, plan: { outcome: "unchanged", caseAfter, movesBalanceDate: false, warnings } };
  });
  return importResult(judged, { importId: id, dryRun: false, isRefused: false });
}

/** Wrong in itself, whatever the case. */
function isWrong(row: CheckedRow): row is Extract<CheckedRow, { errors: unknown }> {
  return "errors" in row && !row.assumesCurrency;
}
