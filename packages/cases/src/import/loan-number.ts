import { isDistributed, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { identityForms } from "../fields/identity-text.ts";
import { statesOfLoans } from "../list/read-cases.ts";

/**
 * Tells whether a loan number is `.` or `..`. In the path of a URL, these segments mean "this folder" and "the parent
 * folder". URL parsers remove them, even if they are percent-encoded. So such loan numbers are rejected.
 *
 * @example
 * isDotSegment(".."); // true
 * isDotSegment("LN..1"); // false
 */
export function isDotSegment(loan: string): boolean {
  return loan === "." || loan === "..";
}

/**
 * Returns the numbers of a lender's loans as they are stored, by the number as it was sent. They differ in the Unicode
 * normal form only. A loan that is not stored has no entry.
 *
 * @example
 * const stored = await storedLoanNumbers(em, lenderId, ["CAFE\u0301-1"]);
 * const loan = stored.get("CAFE\u0301-1") ?? "CAFE\u0301-1";
 */
export async function storedLoanNumbers(
  em: EntityManager,
  lenderId: string,
  loans: readonly string[],
): Promise<Map<string, string>> {
  const forms = new Map(loans.map((loan) => [loan, identityForms(loan)]));
  const known = await statesOfLoans(em, lenderId, [...new Set([...forms.values()].flat())]);
  return new Map(
    [...forms].flatMap(([loan, possible]) => {
      const stored = possible.find((form) => known.has(form));
      return stored === undefined ? [] : [[loan, stored]];
    }),
  );
}

/**
 * Returns the number of a lender's loan as it is stored, or the given number if there is no such loan. Sends no query for a
 * number that has only one normal form.
 *
 * @example
 * const loan = await storedLoanNumber(em, lenderId, "LN-1001"); // "LN-1001"
 */
export async function storedLoanNumber(em: EntityManager, lenderId: string, loan: string): Promise<string> {
  if (!hasSeveralForms(loan)) return loan;
  return (await storedLoanNumbers(em, lenderId, [loan])).get(loan) ?? loan;
}

/**
 * Tells whether a loan number looks the same in several Unicode normal forms.
 *
 * @example
 * hasSeveralForms("CAF\u00C9-1"); // true
 */
export function hasSeveralForms(loan: string): boolean {
  return !/^[ -~]*$/.test(loan) && loan.isWellFormed() && !loan.includes("\0") && identityForms(loan).length > 1;
}

/** A new loan number of digits, and the number of an open loan that differs from it only in leading zeros. */
export interface SimilarLoan {
  readonly loan: string;
  readonly similarTo: string;
}

/**
 * Finds the new loan numbers of digits that differ from the number of an open loan only in leading zeros. A spreadsheet
 * removes these zeros, so both may be the same loan. Numbers with other characters are not similar to any, and neither are
 * numbers of loans that exist, unless `isNew` is false.
 *
 * @example
 * for (const { loan, similarTo } of await similarLoans(em, lenderId, ["4711"])) console.warn(loan, similarTo); // 0004711
 */
export async function similarLoans(
  em: EntityManager,
  lenderId: string,
  loans: readonly string[],
  { isNew = true }: { readonly isNew?: boolean } = {},
): Promise<SimilarLoan[]> {
  const numbers = [...new Set(loans)].filter(isNumeric);
  if (numbers.length === 0) return [];
  const select = (await isDistributed(em)) ? selectSimilarOnCluster : selectSimilar;
  return query<SimilarLoan>(em, select, [lenderId, numbers, isNew]);
}

/**
 * Tells whether a loan number has only digits, so that a spreadsheet may have removed its leading zeros.
 *
 * @example
 * isNumeric("4711"); // true
 */
export function isNumeric(loan: string): boolean {
  return /^\d+$/.test(loan);
}

/**
 * Returns a loan number of digits without its leading zeros, which is the same for similar loans.
 *
 * @example
 * withoutLeadingZeros("0004711"); // "4711"
 */
export function withoutLeadingZeros(loan: string): string {
  return loan.replace(/^0+/, "");
}

/** The maximum length of a loan number. */
export const MAX_LOAN_NUMBER = 64;

// Written backwards, numbers that differ in leading zeros have the same beginning, and then only zeros. So the index on the
// end of loan numbers finds them in one short range. IS TRUE keeps PostgreSQL from using an index that begins with the
// lender: a plan that was made on an empty table would read all cases of the lender. The first LATERAL leaves out loans
// that exist, which most rows of a daily file are about.
const selectSimilar = similarStatement("cases.similar-loans", "(p.lender_id = $1) is true");
const selectSimilarOnCluster = similarStatement("cases.similar-loans-on-cluster", "p.lender_id = $1");

function similarStatement(name: string, isTheLenders: string) {
  const reversed = `reverse(lower(p.source_loan_number)) collate "C"`;
  return statement(
    name,
    `select k.loan, s.source_loan_number as "similarTo"
     from unnest($2::text[]) as k (loan)
     left join lateral (
       select p.id from cases.collection_case p
       where p.lender_id = $1 and p.source_loan_number = k.loan and p.is_current
       limit 1
     ) own on true
     cross join lateral (
       select p.source_loan_number from cases.collection_case p
       where (own.id is null or not $3::boolean) and ${isTheLenders} and p.is_current and p.closed_at is null
         and ${reversed} >= reverse(ltrim(k.loan, '0')) collate "C"
         and ${reversed} <= (reverse(ltrim(k.loan, '0')) || repeat('0', ${MAX_LOAN_NUMBER})) collate "C"
         and p.source_loan_number <> k.loan and ltrim(p.source_loan_number, '0') = ltrim(k.loan, '0')
       limit 1
     ) s`,
  );
}
