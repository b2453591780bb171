import { forLenders, type LenderStatement, lenderStatement, query, statement, type Tx } from "@collections/database";
import { type CaseProperty, IMPORTED_PROPERTIES, LOCKED_PROPERTIES, selectList } from "./case-columns.ts";
import type { CaseKey, ImportedCase, LoanKey, LockedCase } from "./locked-case.ts";

// NO KEY: a plain FOR UPDATE would also stop every insert of a row that references the case.
export const lockCurrent = lockStatement("cases.lock-current", LOCKED_PROPERTIES, "");
export const lockFree = lockStatement("cases.lock-free", LOCKED_PROPERTIES, "skip locked");
export const lockImported = lockStatement("cases.lock-imported", IMPORTED_PROPERTIES, "");
const lockOne = statement(
  "cases.lock-one",
  `select ${selectList(LOCKED_PROPERTIES)} from cases.collection_case c
   where c.lender_id = $1 and c.id = $2 for no key update`,
);
const lockCurrentOf = statement(
  "cases.lock-current-of",
  `select ${selectList(LOCKED_PROPERTIES)} from cases.collection_case k
   cross join lateral (
     select * from cases.collection_case p
     where p.lender_id = $1 and p.source_loan_number = k.source_loan_number and p.is_current
     limit 1
     for no key update
   ) c
   where k.lender_id = $1 and k.id = $2`,
);

/**
 * Locks the current cases of the loans, in the order of lender and loan so that two batches cannot wait for each other
 * in a circle. A loan without a case is missing from the answer; the answer's order means nothing.
 *
 * @example
 * const locked = await lockCurrentCases(tx, [
 *   { lenderId, loan: "LN-1001" },
 *   { lenderId, loan: "LN-1002" },
 * ]);
 */
export function lockCurrentCases(tx: Tx, loans: readonly LoanKey[]): Promise<LockedCase[]> {
  return lockLoans<LockedCase>(tx, lockCurrent, loans);
}

/**
 * Locks the current cases of the loans without waiting: a case that somebody else has locked is missing from the
 * answer, like a loan without one.
 *
 * @example
 * const [freeCase] = await lockFreeCases(tx, [{ lenderId, loan: "LN-1001" }]);
 * if (freeCase === undefined) return; // none, or somebody works on it: try again later
 */
export async function lockFreeCases(tx: Tx, loans: readonly LoanKey[]): Promise<LockedCase[]> {
  return loans.length === 0 ? [] : query<LockedCase>(tx, ...forLenders(lockFree, unnestable(uniqueOf(loans))));
}

/**
 * Locks the current cases of the loans as `lockCurrentCases` does, and reads everything that a row may change.
 *
 * @example
 * const [importedCase] = await lockCasesForImport(tx, [{ lenderId, loan: row.sourceLoanNumber }]);
 */
export function lockCasesForImport(tx: Tx, loans: readonly LoanKey[]): Promise<ImportedCase[]> {
  return lockLoans<ImportedCase>(tx, lockImported, loans);
}

/**
 * Locks the current case of the loan that a case of any cycle belongs to. When a new cycle begins meanwhile, it is the
 * new one's. Undefined when the lender has no such case.
 *
 * @example
 * const currentCase = await lockCurrentCaseOf(tx, { lenderId, caseId });
 * const isEarlierCycle = currentCase !== undefined && currentCase.id !== caseId;
 */
export async function lockCurrentCaseOf(tx: Tx, { lenderId, caseId }: CaseKey): Promise<LockedCase | undefined> {
  const lock = () => query<LockedCase>(tx, lockCurrentOf, [lenderId, caseId]);
  return (await lock())[0] ?? (await lock())[0];
}

/**
 * Locks one case by its id, also one of an earlier cycle (`isCurrent` false). The loan's sequence goes on with its
 * current case: lock that by `lockCurrentCaseOf` before taking a number for an event of an earlier cycle.
 *
 * @example
 * const lockedCase = await lockCase(tx, { lenderId, caseId });
 * const verdict = lockedCase && transition(lockedCase, { kind: "hold", reason: "Borrower in hospital" }, now);
 */
export async function lockCase(tx: Tx, { lenderId, caseId }: CaseKey): Promise<LockedCase | undefined> {
  const [lockedCase] = await query<LockedCase>(tx, lockOne, [lenderId, caseId]);
  return lockedCase;
}

/**
 * A case that was replaced by a new cycle while this transaction waited for it is no longer current and drops out of
 * the answer: what is missing is locked once more, under a newer snapshot that sees the new cycle.
 */
async function lockLoans<Row extends LockedCase>(
  tx: Tx,
  lock: LenderStatement,
  loans: readonly LoanKey[],
): Promise<Row[]> {
  if (loans.length === 0) return [];
  const unique = uniqueOf(loans);
  const locked = await query<Row>(tx, ...forLenders(lock, unnestable(unique)));
  if (locked.length === unique.length) return locked;
  const found = new Set(locked.map(({ lenderId, sourceLoanNumber }) => keyOf({ lenderId, loan: sourceLoanNumber })));
  const missing = unique.filter((loan) => !found.has(keyOf(loan)));
  return [...locked, ...(await query<Row>(tx, ...forLenders(lock, unnestable(missing))))];
}

// The LIMIT holds the planner to one probe of the index per loan, in their order, also in a plan that was made while the
// table was empty: a join would read all of it then, and go on doing so.
function lockStatement(
  name: string,
  properties: readonly CaseProperty[],
  ifLocked: "" | "skip locked",
): LenderStatement {
  return lenderStatement(
    name,
    { ofOne: "p.lender_id = $3", ofMany: "p.lender_id = k.lender_id" },
    (isTheLenders) => `select ${selectList(properties)}
    from (select * from unnest($1::uuid[], $2::text[]) as k (lender_id, loan) order by lender_id, loan) k
    cross join lateral (
      select * from cases.collection_case p
      where ${isTheLenders} and p.source_loan_number = k.loan and p.is_current
      limit 1
      for no key update ${ifLocked}
    ) c`,
  );
}

function uniqueOf(loans: readonly LoanKey[]): LoanKey[] {
  return [...new Map(loans.map((loan) => [keyOf(loan), loan])).values()];
}

function unnestable(loans: readonly LoanKey[]): [lenderIds: string[], loans: string[]] {
  return [loans.map(({ lenderId }) => lenderId), loans.map(({ loan }) => loan)];
}

function keyOf({ lenderId, loan }: LoanKey): string {
  return `${lenderId}/${loan}`;
}
