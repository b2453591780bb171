import {
  type CheckedRow,
  type ImportedCase,
  isNumeric,
  similarLoans,
  similarLoanWarning,
  withoutLeadingZeros,
} from "@collections/cases";
import type { EntityManager, Tx } from "@collections/entities";
import type { ImportResult } from "./import-result.ts";

/** Returns, by new loan number of digits, an open loan or an earlier row that differs only in leading zeros. */
export async function similarTo(
  tx: Tx,
  rows: readonly CheckedRow[],
  current: ReadonlyMap<string | undefined, ImportedCase>,
  lenderId: string,
): Promise<Map<string | undefined, string>> {
  const added = rows.flatMap((one) =>
    "row" in one && one.row.action === "upsert" && isNumeric(one.sourceLoanNumber) && !current.has(one.sourceLoanNumber)
      ? [one.sourceLoanNumber]
      : [],
  );
  const firsts = new Map<string, string>();
  const inRequest = added.flatMap((loan) => {
    const number = withoutLeadingZeros(loan);
    const first = firsts.get(number);
    if (first === undefined) firsts.set(number, loan);
    return first === undefined ? [] : [[loan, first] as const];
  });
  const stored = await similarLoans(tx, lenderId, added);
  return new Map([...inRequest, ...stored.map(({ loan, similarTo: other }) => [loan, other] as const)]);
}

/**
 * Adds the warning about similar loans that another import has created at the same time. It is read after the commit: of
 * two such imports, at least the one that commits last then finds the loans of the other.
 */
export async function withSimilarOfOthers(
  em: EntityManager,
  lenderId: string,
  result: ImportResult,
): Promise<ImportResult> {
  const created = result.results.flatMap((one) =>
    one.outcome === "created" && isNumeric(one.sourceLoanNumber) && !isWarnedOfSimilar(one.warnings) ? [one] : [],
  );
  if (created.length === 0) return result;
  const loans = created.map(({ sourceLoanNumber }) => sourceLoanNumber);
  // The rows are stored, so a failure of this query must not look like a failure of the import.
  const similar = await similarLoans(em, lenderId, loans, { isNew: false }).catch(() => []);
  const ofImport = new Set(result.results.map(({ sourceLoanNumber }) => sourceLoanNumber));
  const others = new Map(
    similar.flatMap(({ loan, similarTo }) => (ofImport.has(similarTo) ? [] : [[loan, similarTo] as const])),
  );
  if (others.size === 0) return result;
  const results = result.results.map((one) => {
    const similarTo = one.outcome === "created" ? others.get(one.sourceLoanNumber) : undefined;
    if (one.outcome === "rejected" || similarTo === undefined) return one;
    return { ...one, warnings: [...one.warnings, similarLoanWarning(one, similarTo)] };
  });
  return { ...result, results };
}

function isWarnedOfSimilar(warnings: readonly { readonly code: string }[]): boolean {
  return warnings.some(({ code }) => code === "SIMILAR_LOAN_NUMBER");
}
