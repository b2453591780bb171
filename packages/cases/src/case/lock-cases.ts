import {
  forLenders,
  isOnCluster,
  type LenderStatement,
  lenderStatement,
  query,
  statement,
} from "@collections/database";
import type { Tx } from "@collections/entities";
import { type CaseProperty, caseTable, IMPORTED_PROPERTIES, LOCKED_PROPERTIES } from "./case-columns.ts";
import type { CaseKey, ImportedCase, LoanKey, LockedCase } from "./locked-case.ts";

// FOR NO KEY UPDATE: a plain FOR UPDATE would also block every insert of a row that references the case.
export const lockCurrent = lockStatement("cases.lock-current", LOCKED_PROPERTIES, "");
export const lockFree = lockStatement("cases.lock-free", LOCKED_PROPERTIES, "skip locked");
export const lockImported = lockStatement("cases.lock-imported", IMPORTED_PROPERTIES, "");
// The range on the id with ORDER BY makes every plan use the primary key. With `c.id = $2`, a plan that is made on an
// empty table may use any index that begins with the lender, because all these indexes look equally cheap.
const lockOne = statement(
  "cases.lock-one",
  `select ${caseTable.selectList("c", LOCKED_PROPERTIES)} from cases.collection_case c
   where c.lender_id = $1 and c.id >= $2 and c.id <= $2 order by c.id limit 1 for no key update`,
);
/** Only for a cluster: a single PostgreSQL may choose a plan for this query that reads all cases of the lender. */
const lockFreeOfOne = statement(
  "cases.lock-free-on-cluster",
  `select ${caseTable.selectList("c", LOCKED_PROPERTIES)} from cases.collection_case c
   where c.lender_id = $1 and c.source_loan_number = any ($2::text[]) and c.is_current
   order by c.source_loan_number for no key update skip locked`,
);
const selectCurrentLoans = statement(
  "cases.current-loans",
  `select source_loan_number as loan from cases.collection_case
   where lender_id = $1 and source_loan_number = any ($2::text[]) and is_current`,
);
const lockCurrentOf = statement(
  "cases.lock-current-of",
  `select ${caseTable.selectList("c", LOCKED_PROPERTIES)} from (
     select source_loan_number from cases.collection_case
     where lender_id = $1 and id >= $2 and id <= $2 order by id limit 1
   ) k
   cross join lateral (
     select * from cases.collection_case p
     where p.lender_id = $1 and p.source_loan_number = k.source_loan_number and p.is_current
     limit 1
     for no key update
   ) c`,
);

/**
 * Locks the current cases of the loans and returns them, in no particular order. The locks are taken in the order of
 * lender and loan, so that two batches cannot deadlock. Loans without a case are left out of the result.
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
 * The result of locking without waiting. If a loan is in neither list, another transaction has locked its case.
 */
export interface FreeCases {
  readonly locked: LockedCase[];
  /** Loans that had no case when the query started. */
  readonly absent: LoanKey[];
}

/**
 * Locks the current cases of the loans without waiting. Cases that another transaction has locked are skipped.
 *
 * @example
 * const { locked, absent } = await lockFreeCases(tx, [{ lenderId, loan: "LN-1001" }]);
 * if (absent.length > 0) console.log("The loan was never imported.");
 * else if (locked.length === 0) console.log("Another transaction has locked the case: try again later.");
 */
export async function lockFreeCases(tx: Tx, loans: readonly LoanKey[]): Promise<FreeCases> {
  const keys = uniqueOf(loans);
  if (isOnCluster(tx)) return lockFreeOnCluster(tx, keys);
  const { locked, absent } = await lockOnce<LockedCase>(tx, lockFree, keys);
  return { locked, absent };
}

/**
 * Does the same as `lockFreeCases`, with queries that Citus can route without planning a join. Sends a second query for
 * a lender only if one of its loans was not locked.
 */
async function lockFreeOnCluster(tx: Tx, keys: readonly LoanKey[]): Promise<FreeCases> {
  const result: FreeCases = { locked: [], absent: [] };
  for (const [lenderId, itsKeys] of Map.groupBy(keys, (key) => key.lenderId)) {
    const loans = itsKeys.map(({ loan }) => loan);
    const locked = await query<LockedCase>(tx, lockFreeOfOne, [lenderId, loans]);
    result.locked.push(...locked);
    const isLocked = new Set(locked.map(({ sourceLoanNumber }) => sourceLoanNumber));
    const open = loans.filter((loan) => !isLocked.has(loan));
    if (open.length === 0) continue;
    const others = await query<{ loan: string }>(tx, selectCurrentLoans, [lenderId, open]);
    const isHeld = new Set(others.map(({ loan }) => loan));
    result.absent.push(...open.filter((loan) => !isHeld.has(loan)).map((loan) => ({ lenderId, loan })));
  }
  return result;
}

/**
 * Locks the current cases of the loans as `lockCurrentCases` does, and reads all details that an import row may change.
 *
 * @example
 * const [importedCase] = await lockCasesForImport(tx, [{ lenderId, loan: row.sourceLoanNumber }]);
 */
export function lockCasesForImport(tx: Tx, loans: readonly LoanKey[]): Promise<ImportedCase[]> {
  return lockLoans<ImportedCase>(tx, lockImported, loans);
}

/**
 * Finds the loan of the given case, which may be of any cycle, and locks the loan's current case. If a new cycle starts
 * during the wait for the lock, locks the case of the new cycle. Returns undefined if the lender has no such case.
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
 * Locks one case by its id, also a case of an earlier cycle (`isCurrent` false). The loan's sequence is stored in its
 * current case. Before you number an event of an earlier cycle, lock the current case with `lockCurrentCaseOf`.
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
 * Locks the current cases of the loans, and waits for the locks of other transactions. If a new cycle replaced a case
 * during the wait, the query does not return that case. Another query then locks the loan's new case: its newer
 * snapshot contains the new cycle.
 */
async function lockLoans<Row extends LockedCase>(
  tx: Tx,
  lock: LenderStatement,
  loans: readonly LoanKey[],
): Promise<Row[]> {
  const lockedRows: Row[] = [];
  let open = uniqueOf(loans);
  while (open.length > 0) {
    const { locked, others } = await lockOnce<Row>(tx, lock, open);
    lockedRows.push(...locked);
    open = others;
  }
  return lockedRows;
}

interface LockResult<Row> {
  readonly locked: Row[];
  readonly absent: LoanKey[];
  /** Loans whose case was not locked: another transaction has locked it (SKIP LOCKED), or a new cycle replaced it. */
  readonly others: LoanKey[];
}

async function lockOnce<Row extends LockedCase>(
  tx: Tx,
  lock: LenderStatement,
  loans: LoanKey[],
): Promise<LockResult<Row>> {
  const result: LockResult<Row> = { locked: [], absent: [], others: [] };
  if (loans.length === 0) return result;
  const rows = await query<LockRow>(tx, ...forLenders(lock, keyArrays(loans)));
  for (const { isAbsent, ...row } of rows) {
    if (row.id !== null) result.locked.push(row as unknown as Row);
    else (isAbsent ? result.absent : result.others).push({ lenderId: row.lenderId, loan: row.sourceLoanNumber });
  }
  return result;
}

/** The row of one loan. If the case was locked, the row has the columns of the case; otherwise it has nulls. */
interface LockRow {
  readonly lenderId: string;
  readonly sourceLoanNumber: string;
  readonly id: string | null;
  readonly isAbsent: boolean;
}

/**
 * Builds a query that returns one row for each loan. `isAbsent` is read from the query's snapshot, without a lock:
 * every snapshot contains exactly one current case of an imported loan, even if other transactions lock or replace
 * cases.
 *
 * Each LIMIT makes the planner probe the index once for each loan, even in a plan that was made while the table was
 * empty. A join, or EXISTS as a hashed subplan, would read the whole table. The LIMIT on the arrays makes the planner expect
 * one loan and not ten. With ten, it would make a new plan for each query of fewer loans, which takes longer than the
 * query itself.
 */
function lockStatement(
  name: string,
  properties: readonly CaseProperty[],
  ifLocked: "" | "skip locked",
): LenderStatement {
  const others = properties.filter((property) => property !== "lenderId" && property !== "sourceLoanNumber");
  return lenderStatement(name, { ofOne: "p.lender_id = $3", ofMany: "p.lender_id = k.lender_id" }, (isTheLenders) => {
    const current = `from cases.collection_case p
      where ${isTheLenders} and p.source_loan_number = k.loan and p.is_current
      limit 1`;
    return `select k.lender_id as "lenderId", k.loan as "sourceLoanNumber", ${caseTable.selectList("c", others)},
      case when c.id is null then (select p.id ${current}) is null else false end as "isAbsent"
    from (
      select * from unnest($1::uuid[], $2::text[]) as k (lender_id, loan)
      order by lender_id, loan limit cardinality($1)
    ) k
    left join lateral (
      select * ${current}
      for no key update ${ifLocked}
    ) c on true`;
  });
}

function uniqueOf(loans: readonly LoanKey[]): LoanKey[] {
  return [...new Map(loans.map((loan) => [keyOf(loan), loan])).values()];
}

function keyArrays(loans: readonly LoanKey[]): [lenderIds: string[], loans: string[]] {
  return [loans.map(({ lenderId }) => lenderId), loans.map(({ loan }) => loan)];
}

function keyOf({ lenderId, loan }: LoanKey): string {
  return `${lenderId}/${loan}`;
}
