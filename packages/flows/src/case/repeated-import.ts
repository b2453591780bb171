import assert from "node:assert/strict";
import type { CheckedRow, ImportedCase, ImportRun, RefusedRow, RowFault } from "@collections/cases";
import { type ImportResult, importResult, type PlannedRow } from "./import-result.ts";

/**
 * Returns the rows that were rejected because of the state of their case. These rows are stored, so that a repeat of
 * the import rejects them too, even if the state of the case has changed.
 */
export function refusedByCase(rows: readonly PlannedRow[], checked: readonly CheckedRow[]): RefusedRow[] {
  return rows.flatMap(({ checked: { index }, plan }, at) =>
    plan.outcome === "rejected" && !isWrong(checked[at]!) ? [{ index, errors: plan.errors.map(storable) }] : [],
  );
}

function storable(fault: RowFault): RowFault {
  return { ...fault, pointer: storableText(fault.pointer), detail: storableText(fault.detail) };
}

/**
 * Replaces NUL and lone surrogates, because PostgreSQL cannot store them in JSON. An error's text can contain them if
 * it quotes a value of the row.
 */
function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

/**
 * Returns the rows of a repeat. Rows that the first import rejected because of their cases get the same errors again.
 */
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
 * Returns the answer to a repeat of an applied import. Rejected rows are rejected again, and applied rows are
 * `unchanged`, even if their cases have changed since.
 */
export function repeatedImport(
  checked: readonly CheckedRow[],
  current: ReadonlyMap<string | undefined, ImportedCase>,
  { id }: ImportRun,
): ImportResult {
  const planned = checked.map((one): PlannedRow => {
    if (isWrong(one)) return { checked: one, plan: { outcome: "rejected", errors: one.errors } };
    const caseAfter = current.get(one.sourceLoanNumber);
    assert.ok(caseAfter, "An applied row has a case, and cases are never deleted.");
    const { warnings } = "row" in one ? one.row : one;
    return { checked: one, plan: { outcome: "unchanged", caseAfter, changesBalance: false, warnings } };
  });
  return importResult(planned, { importId: id, dryRun: false, isRefused: false });
}

/** Tells whether a row is invalid independently of the state of its case. */
function isWrong(row: CheckedRow): row is Extract<CheckedRow, { errors: unknown }> {
  return "errors" in row && !row.assumesCurrency;
}
