import {
  forLenders,
  insertFor,
  lenderInsert,
  type LenderStatement,
  lenderStatement,
  query,
  send,
} from "@collections/database";
import type { Tx } from "@collections/entities";
import type { ReversedCase } from "./apply-reversal.ts";
import { type CaseProperty, caseTable, IMPORTED_PROPERTIES } from "./case-columns.ts";
import type { ImportedCase, LockedCase } from "./locked-case.ts";

type WrittenProperty = CaseProperty | "totalReversedMinor";

/** The properties that a confirmation changes. No index names their columns, so that the update is heap-only (HOT). */
const PAYMENT_PROPERTIES = [
  "status",
  "statusReason",
  "statusBeforeHold",
  "fieldWork",
  "blockedAt",
  "workBegun",
  "outstandingMinor",
  "totalCollectedMinor",
  "excessMinor",
  "peakMinor",
  "lastPaymentAt",
  "sequence",
  "closedAt",
  "closeReason",
] as const satisfies readonly (keyof LockedCase)[];

/** The properties that an import row may change although the outstanding amount stays. */
const BALANCE_PROPERTIES = [
  "outstandingAsOf",
  "peakMinor",
  "balanceMinor",
  "balanceAsOf",
  "balanceSequence",
] as const satisfies readonly (keyof ImportedCase)[];

/**
 * The properties that all other work on a case changes: an assignment, a visit, a link, a hold, an end by an operator.
 */
const STATE_PROPERTIES = [
  "status",
  "statusReason",
  "statusBeforeHold",
  "fieldWork",
  "blockedAt",
  "workBegun",
  "settledByLender",
  "assignedFieldPartnerId",
  "assignedSince",
  "lastVisitId",
  "lastDisposition",
  "sequence",
  "closedAt",
  "closeReason",
] as const satisfies readonly (keyof LockedCase)[];

/** The properties that a reversal changes: amounts, the state, and the field partner of a reopened case. */
const REVERSAL_PROPERTIES = [
  ...PAYMENT_PROPERTIES,
  "totalReversedMinor",
  "settledByLender",
  "assignedFieldPartnerId",
  "assignedSince",
] as const satisfies readonly (keyof ReversedCase)[];

const KEY_PROPERTIES = ["lenderId", "id"] as const;

/** Saves PAYMENT_PROPERTIES of locked cases. */
export const writePayments = unnestUpdate("cases.write-payments", PAYMENT_PROPERTIES);
/** Saves REVERSAL_PROPERTIES of locked cases. */
export const writeReversals = unnestUpdate("cases.write-reversals", REVERSAL_PROPERTIES);
/** Saves STATE_PROPERTIES of locked cases. They include no amounts. */
export const writeStates = unnestUpdate("cases.write-states", STATE_PROPERTIES);
/** Saves BALANCE_PROPERTIES of cases whose outstanding amount stays. Keeps `updated_at`. */
export const writeBalance = unnestUpdate("cases.write-balances", BALANCE_PROPERTIES, { setsUpdatedAt: false });

const [, ...INSERTED_PROPERTIES] = IMPORTED_PROPERTIES;
const CHANGED_BY_IMPORT = INSERTED_PROPERTIES.filter((property) => property !== "id");
/** The SQL parameter for the time of the import. It follows the parameters for the lender and the inserted columns. */
const IMPORT_NOW = `$${IMPORTED_PROPERTIES.length + 1}::timestamptz`;
const IMPORTED_CASES = {
  table: caseTable.name,
  columns: caseTable.insertedTypes(INSERTED_PROPERTIES),
  equal: { created_at: IMPORT_NOW, updated_at: IMPORT_NOW },
};

export const insertImported = lenderInsert("cases.insert-imported", {
  ...IMPORTED_CASES,
  ending: "on conflict do nothing returning id",
});

// The cases exist, so this INSERT only updates. ON CONFLICT finds them by the primary key, in every plan. An UPDATE
// with a join would read the whole table if its plan was made while the table was empty.
export const updateImported = lenderInsert("cases.update-imported", {
  ...IMPORTED_CASES,
  ending: `on conflict (lender_id, id) do update
     set ${caseTable.assignFrom("excluded", [...CHANGED_BY_IMPORT, "updatedAt"])}`,
});

/** Sets `is_current` to false on cases that a newer case of their loan replaces. Keeps `updated_at`. */
export const retire = unnestUpdate("cases.retire", ["isCurrent"], { setsUpdatedAt: false });

/**
 * Writes what payments changed on locked cases. Pass each case once, after all of its payments were applied.
 *
 * @example
 * const payment = { amountMinor: 250_000n, paidAt: now };
 * writeCases(tx, [applyPayment(lockedCase, payment, now).caseAfter], now);
 */
export function writeCases(tx: Tx, casesAfter: readonly LockedCase[], now: Date): void {
  sendUpdate(tx, writePayments, PAYMENT_PROPERTIES, casesAfter, now);
}

/**
 * Writes what a reversal changed on a locked case.
 *
 * @example
 * const payment = { appliedMinor: 10_000n, excessMinor: 0n };
 * const difference = { beforeMinor: 0n, afterMinor: 8_000n };
 * const returned: ReturnedMoney = { amountMinor: 8_000n, payment, difference, held: [], keepsHolder: true };
 * const { caseAfter } = applyReversal({ ...lockedCase, totalReversedMinor: 0n }, returned, now);
 * writeReversedCase(tx, caseAfter, now);
 */
export function writeReversedCase(tx: Tx, caseAfter: ReversedCase, now: Date): void {
  const rows = caseTable.arrays([caseAfter], ["id", ...REVERSAL_PROPERTIES]);
  send(tx, ...forLenders(writeReversals, [[caseAfter.lenderId], ...rows, now.toISOString()]));
}

/**
 * Writes the state of locked cases, without amounts, after any other change: an assignment, a visit, a link, a hold or
 * the end of the case.
 *
 * @example
 * const verdict = transition(lockedCase, { kind: "release" }, now);
 * if (verdict.allowed) writeCaseStates(tx, [verdict.caseAfter], now);
 */
export function writeCaseStates(tx: Tx, casesAfter: readonly LockedCase[], now: Date): void {
  sendUpdate(tx, writeStates, STATE_PROPERTIES, casesAfter, now);
}

/**
 * Writes what import rows changed on locked cases: details, balance and state.
 *
 * @example
 * const facts = { lenderId, importId: newId(), newCaseId: newId(), later: NO_LATER_MONEY, holder: null, now };
 * const plan = planRow(row, importedCase, facts);
 * if (plan.outcome === "updated") writeImportedCases(tx, [plan.caseAfter], now);
 */
export function writeImportedCases(tx: Tx, casesAfter: readonly ImportedCase[], now: Date): void {
  if (casesAfter.length > 0) send(tx, ...insertFor(tx, updateImported, importedValues(casesAfter, now)));
}

/**
 * Writes the balance, its date and the peak of locked cases whose outstanding amount did not change. `updatedAt` and the
 * sequence stay the same, because a reader of the case would see no change.
 *
 * @example
 * const facts = { lenderId, importId: newId(), newCaseId: newId(), later: NO_LATER_MONEY, holder: null, now };
 * const plan = planRow(row, importedCase, facts);
 * if (plan.outcome === "unchanged" && plan.changesBalance) writeBalances(tx, [plan.caseAfter]);
 */
export function writeBalances(tx: Tx, casesAfter: readonly ImportedCase[]): void {
  if (casesAfter.length === 0) return;
  const lenderIds = casesAfter.map(({ lenderId }) => lenderId);
  send(tx, ...forLenders(writeBalance, [lenderIds, ...caseTable.arrays(casesAfter, ["id", ...BALANCE_PROPERTIES])]));
}

/**
 * Inserts new cases. The locked cases that they replace are first marked as not current. A case is not inserted if
 * another transaction has just inserted a case of the same loan. Returns the cases that were not inserted. For each of
 * them, lock the case that the other transaction inserted, and plan the row again.
 *
 * @example
 * const missed = await insertCases(tx, [importedCase], [], now);
 * const loans = missed.map(({ sourceLoanNumber }) => ({ lenderId, loan: sourceLoanNumber }));
 * const madeByOthers = await lockCasesForImport(tx, loans);
 */
export async function insertCases(
  tx: Tx,
  newCases: readonly ImportedCase[],
  replaced: readonly LockedCase[],
  now: Date,
): Promise<ImportedCase[]> {
  if (newCases.length === 0) return [];
  if (replaced.length > 0) {
    const [lenderIds, ids] = [replaced.map(({ lenderId }) => lenderId), replaced.map(({ id }) => id)];
    send(tx, ...forLenders(retire, [lenderIds, ids, replaced.map(() => false)]));
  }
  const inOrder = newCases.toSorted(byLenderAndLoan);
  const rows = await query<{ id: string }>(tx, ...insertFor(tx, insertImported, importedValues(inOrder, now)));
  const made = new Set(rows.map(({ id }) => id));
  return newCases.filter(({ id }) => !made.has(id));
}

/**
 * Compares two cases by lender and loan, for sorting. Two imports that insert the same new loans wait for each other at
 * the unique index. They cannot deadlock, because both insert in this order.
 */
function byLenderAndLoan(one: ImportedCase, other: ImportedCase): number {
  if (one.lenderId !== other.lenderId) return one.lenderId < other.lenderId ? -1 : 1;
  return one.sourceLoanNumber < other.sourceLoanNumber ? -1 : 1;
}

function importedValues(cases: readonly ImportedCase[], now: Date): [lenderIds: string[], ...others: unknown[]] {
  const lenderIds = cases.map(({ lenderId }) => lenderId);
  return [lenderIds, ...caseTable.arrays(cases, INSERTED_PROPERTIES), now.toISOString()];
}

function sendUpdate(
  tx: Tx,
  update: LenderStatement,
  properties: readonly (CaseProperty & keyof LockedCase)[],
  casesAfter: readonly LockedCase[],
  now: Date,
): void {
  if (casesAfter.length === 0) return;
  const lenderIds = casesAfter.map(({ lenderId }) => lenderId);
  send(
    tx,
    ...forLenders(update, [lenderIds, ...caseTable.arrays(casesAfter, ["id", ...properties]), now.toISOString()]),
  );
}

// Builds an UPDATE of many locked cases. Every plan finds each case by its position in the table (ctid). An UPDATE that
// joins the arrays by id would read all cases of the lender if its plan was made while the table was small. A locked
// case keeps its ctid until its own transaction changes it.
// - LIMIT makes the planner look up the ctid once for each id.
// - ORDER BY with a range makes the planner use the primary key. With an equality, any index that begins with the
//   lender looks as cheap as the primary key.
// - The LIMIT on the arrays makes the planner expect one row instead of ten. For ten rows, a plan made on an empty
//   table would scan the whole table.
function unnestUpdate(
  name: string,
  properties: readonly WrittenProperty[],
  { setsUpdatedAt = true }: { readonly setsUpdatedAt?: boolean } = {},
): LenderStatement {
  const all = [...KEY_PROPERTIES, ...properties];
  const changed = [caseTable.assignFrom("v", properties)];
  if (setsUpdatedAt) changed.push(`updated_at = $${all.length + 1}::timestamptz`);
  const lenderId = `$${all.length + (setsUpdatedAt ? 2 : 1)}`;
  return lenderStatement(
    name,
    { ofOne: lenderId, ofMany: "v.lender_id" },
    (theLenders) => `
    update cases.collection_case c set ${changed.join(", ")}
    from (select * from ${unnested(all)} limit cardinality($1)) v cross join lateral (
      select p.ctid as place from cases.collection_case p
      where p.lender_id = ${theLenders} and p.id >= v.id and p.id <= v.id
      order by p.id limit 1
    ) l
    where c.lender_id = ${theLenders} and c.ctid = l.place`,
  );
}

/** Returns a subquery `v` that turns the parameters from $1 on, one array for each column, into rows. */
function unnested(properties: readonly WrittenProperty[]): string {
  const columns = properties.map((property) => `u.${caseTable.column(property)}::${caseTable.type(property)}`);
  return `(select ${columns.join(", ")} from ${caseTable.unnest("u", properties)}) v`;
}
