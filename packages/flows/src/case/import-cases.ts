import {
  adjustment,
  type Booking,
  caseAccounts,
  lenderAccounts,
  openAccounts,
  placement,
  postTransfers,
} from "@collections/bookings";
import {
  type CheckedRow,
  checkRowsInTurns,
  inCurrencyOfCase,
  type ImportedCase,
  type ImportRun,
  hasSeveralForms,
  importRun,
  insertCases,
  type LenderDefaults,
  lockCasesForImport,
  NO_LATER_MONEY,
  planRow,
  recordImport,
  recordUnappliedImport,
  type RefusedRow,
  type RowPlan,
  storedLoanNumbers,
  writeBalances,
  writeImportedCases,
} from "@collections/cases";
import { inTurns, isUniqueViolation, newId, sqlState, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import type { LenderProfile } from "@collections/lenders";
import { applyExcess } from "./apply-excess.ts";
import { signalCaseChange } from "./case-channel.ts";
import { creditEnded } from "./credit-ended.ts";
import { caseEvent, emitCaseEvents } from "./event.ts";
import { asOf, holdersOf, laterThanBalances } from "./balance-facts.ts";
import { type ImportResult, importResult, type PlannedRow } from "./import-result.ts";
import { asRefusedBefore, refusedByCase, repeatedImport } from "./repeated-import.ts";
import { similarTo, withSimilarOfOthers } from "./similar-loans.ts";

/**
 * The maximum number of rows of one import (contract: Limits).
 *
 * @example
 * for (let from = 0; from < nightlyRows.length; from += MAX_IMPORT_ROWS) {
 *   const rows = nightlyRows.slice(from, from + MAX_IMPORT_ROWS);
 *   await importCases(em, { lender, rows, dryRun: false, atomic: false }, "live");
 * }
 */
export const MAX_IMPORT_ROWS = 1_000;

/** A request to import rows of a lender. */
export interface ImportRequest {
  readonly lender: LenderProfile;
  /** The parsed rows, with amounts as `AmountLiteral`; at most MAX_IMPORT_ROWS. */
  readonly rows: readonly unknown[];
  /** Whether to roll everything back at the end. */
  readonly dryRun: boolean;
  /** Whether to apply no row if one is rejected. */
  readonly atomic: boolean;
  /**
   * Whether an optional field with a fault is left out with a warning, as in files. Default: its row is rejected, as in
   * the API.
   */
  readonly leaveOutFaulty?: boolean;
  /**
   * The UUID of the request. A repeat with the same id writes nothing, and uses the `dryRun` and `atomic` of the first
   * request. Default: a new UUID; then the import is recorded only if it is applied.
   */
  readonly importId?: string;
  /**
   * Called in the transaction when all rows are written, also in a dry run, which rolls its writes back. The transaction
   * may be repeated after a deadlock, and then this is called again. Not called if the import is refused or repeated.
   */
  readonly onWritten?: (tx: Tx, result: ImportResult) => Promise<void>;
  /**
   * Called at the end of the transaction that writes the rows, so that the rows and the writes of this function are
   * committed together. Not called if the rows are rolled back.
   */
  readonly beforeCommit?: (tx: Tx, result: ImportResult) => Promise<void>;
}

const DEADLOCK = "40P01";

/**
 * Applies rows to the lender's cases (contract: Partner endpoints, POST cases). Valid rows are applied even if others
 * are rejected, unless `atomic`. Importing the same rows twice does no harm, even at the same time. A dry run applies
 * the rows and rolls them back.
 *
 * @example
 * const borrower = { borrowerName: "Asha Rao", borrowerPhone: "+919800000001" };
 * const row = { sourceLoanNumber: "LN-2026-00417", ...borrower, outstandingAmount: new AmountLiteral("2500.50") };
 * const request = { lender, rows: [row], dryRun: false, atomic: false };
 * const { success, summary, results } = await importCases(em, request, "live");
 */
export async function importCases(
  em: EntityManager,
  request: ImportRequest,
  environment: string,
): Promise<ImportResult> {
  const attempt: ImportAttempt = { ...request, receivedAt: new Date() };
  const checked = await checkRowsInTurns(request.rows, defaultsOf(request), attempt.receivedAt);
  try {
    const result = await apply(em, checked, attempt, environment);
    return await withSimilarOfOthers(em, request.lender.id, result);
  } catch (error) {
    if (error instanceof RolledBack) {
      if (await isFirstUse(em, request, error)) return error.result;
    } else if (!isUniqueViolation(error)) {
      throw error;
    }
    const before = request.importId && (await importRun(em, request.lender.id, request.importId));
    if (!before) throw error;
    return answerRepeat(em, checked, attempt, before, environment);
  }
}

function defaultsOf({ lender, leaveOutFaulty }: ImportRequest): LenderDefaults {
  const { currency, country, language } = lender;
  return { currency, country, language, leaveOutFaulty };
}

/** @throws RolledBack if the import is not stored. */
async function apply(
  em: EntityManager,
  checked: readonly CheckedRow[],
  request: ImportAttempt,
  environment: string,
): Promise<ImportResult> {
  const run = () => transaction(em, (tx) => applyRows(tx, checked, request, environment));
  // Concurrent imports of overlapping rows can deadlock. PostgreSQL then aborts one of them, which is repeated here.
  return run().catch((error: unknown) => (sqlState(error) === DEADLOCK ? run() : Promise.reject(error)));
}

/** Records a request that was rolled back. Returns false if a request with this id was recorded before. */
async function isFirstUse(
  em: EntityManager,
  { lender, importId, dryRun, atomic }: ImportRequest,
  { result, refused }: RolledBack,
): Promise<boolean> {
  if (importId === undefined) return true;
  const run = { lenderId: lender.id, importId, dryRun, atomic, summary: { ...result.summary }, refused };
  return transaction(em, (tx) => recordUnappliedImport(tx, run, new Date()));
}

/**
 * Answers a repeat of an import id. The `dryRun` and `atomic` of the first use apply, and the options of the repeat are
 * ignored. Writes nothing.
 */
async function answerRepeat(
  em: EntityManager,
  checked: readonly CheckedRow[],
  request: ImportAttempt,
  before: ImportRun,
  environment: string,
): Promise<ImportResult> {
  const rows = asRefusedBefore(checked, before.refused);
  if (before.applied) {
    return transaction(em, async (tx) => {
      const inForm = await inStoredForm(tx, rows, request.lender.id);
      return repeatedImport(inForm, await currentCases(tx, inForm, request.lender.id), before);
    });
  }
  const again = { ...request, dryRun: before.dryRun, atomic: before.atomic, isRepeat: true };
  try {
    return await apply(em, rows, again, environment);
  } catch (error) {
    if (error instanceof RolledBack) return error.result;
    throw error;
  }
}

interface ImportAttempt extends ImportRequest {
  /** When the rows were first checked. Later checks use the same time to detect an `outstandingAsOf` in the future. */
  readonly receivedAt: Date;
  /** Whether the request is a repeat. Then the rows are applied only to compute the answer, and are rolled back. */
  readonly isRepeat?: boolean;
}

/** Thrown to roll the transaction back. It carries the result that the import would have had. */
class RolledBack extends Error {
  override readonly name = "RolledBack";
  readonly result: ImportResult;
  readonly refused: readonly RefusedRow[];

  constructor(result: ImportResult, refused: readonly RefusedRow[]) {
    super("The import is rolled back.");
    this.result = result;
    this.refused = refused;
  }
}

/** @throws RolledBack for a dry run, an atomic import with a rejected row, or a repeat. */
async function applyRows(
  tx: Tx,
  checked: readonly CheckedRow[],
  request: ImportAttempt,
  environment: string,
): Promise<ImportResult> {
  const { lender, dryRun, atomic, isRepeat = false } = request;
  const { importId = newId() } = request;
  const now = new Date();

  // Lock the loans, plan each row with its case, and insert the new cases. If another import has inserted a case of a
  // loan at the same time, lock that case and plan the row again.
  const planned = new Map<number, PlannedRow & { readonly bookings: readonly Booking[] }>();
  let open = await inStoredForm(tx, checked, lender.id);
  while (open.length > 0) {
    const plans = await planRows(tx, open, request, importId, now);
    const missed = new Set((await insertNewCases(tx, plans, now)).map(({ id }) => id));
    for (const one of plans) if (!missed.has(newCaseIdOf(one) ?? "")) planned.set(one.checked.index, one);
    open = open.filter(({ index }) => !planned.has(index));
  }
  const applied = [...planned.values()].flatMap((one) => ("events" in one.plan ? [{ ...one, plan: one.plan }] : []));

  // Write everything with one SQL statement for each table.
  writeImportedCases(
    tx,
    applied.filter(({ plan }) => !isNew(plan)).map(({ plan }) => plan.caseAfter),
    now,
  );
  writeBalances(
    tx,
    [...planned.values()].flatMap(({ plan }) =>
      plan.outcome === "unchanged" && plan.changesBalance ? [plan.caseAfter] : [],
    ),
  );
  const created = applied.map(({ plan }) => plan).filter(isNew);
  openAccounts(tx, accountsFor(created, lender.id), now);
  const change = ({ checked: row, plan: { caseAfter, events } }: (typeof applied)[number]) => ({
    lenderId: lender.id,
    caseId: caseAfter.id,
    currency: caseAfter.currency,
    sequence: events[0]?.sequence ?? caseAfter.sequence,
    effectiveAt: asOf(row) ?? now,
    recordedAt: now,
  });
  postTransfers(
    tx,
    applied.flatMap((one) => [
      ...placement({ ...change(one), amountMinor: one.plan.placementMinor }),
      ...adjustment({ ...change(one), changeMinor: one.plan.adjustmentMinor }),
    ]),
  );
  // Rare: the balance of a cleared loan shows that the debt was larger than known.
  for (const one of applied.filter(({ plan }) => plan.reapplied.length > 0)) {
    const { caseAfter, reapplied } = one.plan;
    const { sequence, effectiveAt } = change(one);
    const excess = { caseAfter, sequence, effectiveAt, applied: reapplied, bookings: one.bookings };
    postTransfers(tx, await applyExcess(tx, excess, now));
  }
  await creditEnded(
    tx,
    applied.filter(({ plan }) => plan.caseAfter.closedAt !== null && !isNew(plan)).map(({ plan }) => plan.caseAfter),
    now,
  );
  const origin = { lenderCode: lender.code, environment, now };
  await emitCaseEvents(
    tx,
    applied.flatMap(({ plan }) =>
      plan.events.map((event) => caseEvent({ ...plan.caseAfter, status: event.status }, event, origin)),
    ),
  );
  signalReplacedCases(tx, created);
  const inOrder = checked.map(({ index }) => planned.get(index)!);
  const refused = refusedByCase(inOrder, checked);
  // A refused import stays refused when it is repeated, even if all rows could be applied now.
  const isRefused = atomic && (inOrder.some(({ plan }) => plan.outcome === "rejected") || (isRepeat && !dryRun));
  const isStored = !dryRun && !isRefused && !isRepeat;
  const result = importResult(inOrder, { importId: isStored ? importId : null, dryRun, isRefused });
  if (!isRefused && !isRepeat) await request.onWritten?.(tx, result);
  if (!isStored) throw new RolledBack(result, refused);
  recordImport(tx, { lenderId: lender.id, importId, atomic, summary: { ...result.summary }, refused }, now);
  await request.beforeCommit?.(tx, result);
  return result;
}

/** Notifies the field partners who lose a case because the import has begun the next cycle of its loan. */
function signalReplacedCases(tx: Tx, created: readonly Applied[]): void {
  for (const { replaces } of created) {
    const fieldPartnerId = replaces?.assignedFieldPartnerId ?? null;
    if (replaces && fieldPartnerId !== null) {
      signalCaseChange(tx, { fieldPartnerId, kind: "unassigned", caseId: replaces.id });
    }
  }
}

type Applied = Extract<RowPlan, { events: unknown }>;

/**
 * Returns the rows with the loan numbers as they are stored: a number may be sent in another Unicode normal form. New
 * numbers are stored in NFC. Rejects a second row about the same loan.
 */
async function inStoredForm(tx: Tx, checked: readonly CheckedRow[], lenderId: string): Promise<readonly CheckedRow[]> {
  const loans = checked.flatMap(({ sourceLoanNumber }) =>
    sourceLoanNumber !== undefined && hasSeveralForms(sourceLoanNumber) ? [sourceLoanNumber] : [],
  );
  if (loans.length === 0) return checked;
  const stored = await storedLoanNumbers(tx, lenderId, loans);
  const firstIndexes = new Map<string, number>();
  return checked.map((one) => {
    const { index, sourceLoanNumber: sent } = one;
    if (sent === undefined || !hasSeveralForms(sent)) return one;
    const loan = stored.get(sent) ?? sent.normalize("NFC");
    const first = firstIndexes.get(loan);
    if (first === undefined) {
      firstIndexes.set(loan, index);
      return "row" in one
        ? { ...one, sourceLoanNumber: loan, row: { ...one.row, sourceLoanNumber: loan } }
        : { ...one, sourceLoanNumber: loan };
    }
    const pointer = `/rows/${index}/sourceLoanNumber`;
    const detail = `Row ${first} is about the same loan; send one row for each loan.`;
    const { warnings } = "row" in one ? one.row : one;
    const errors = [{ code: "DUPLICATE_IN_REQUEST" as const, pointer, detail }];
    return { index, sourceLoanNumber: loan, assumesCurrency: false, errors, warnings };
  });
}

async function planRows(
  tx: Tx,
  rows: readonly CheckedRow[],
  request: ImportAttempt,
  importId: string,
  now: Date,
): Promise<(PlannedRow & { readonly bookings: readonly Booking[] })[]> {
  const { lender, rows: raw, receivedAt } = request;
  const current = await currentCases(tx, rows, lender.id);
  const defaults = defaultsOf(request);
  const read = rows.map((one) => {
    const theCase = current.get(one.sourceLoanNumber);
    return theCase === undefined ? one : inCurrencyOfCase(one, raw[one.index], defaults, theCase.currency, receivedAt);
  });
  const later = await laterThanBalances(tx, read, current, lender.id);
  const holders = await holdersOf(tx, [...later.keys()], current);
  const similar = await similarTo(tx, read, current, lender.id);
  return inTurns(read, (checked): PlannedRow & { readonly bookings: readonly Booking[] } => {
    const loan = checked.sourceLoanNumber;
    const { money, bookings } = later.get(loan) ?? { money: NO_LATER_MONEY, bookings: [] };
    if ("errors" in checked) return { checked, bookings, plan: { outcome: "rejected", errors: checked.errors } };
    const holder = holders.get(loan) ?? null;
    const facts = {
      lenderId: lender.id,
      importId,
      newCaseId: newId(),
      later: money,
      holder,
      similarTo: similar.get(loan),
      now,
    };
    return { checked, bookings, plan: planRow(checked.row, current.get(loan), facts) };
  });
}

/** Locks the current cases that are needed to plan the rows, and returns them by loan. */
async function currentCases(
  tx: Tx,
  rows: readonly CheckedRow[],
  lenderId: string,
): Promise<Map<string | undefined, ImportedCase>> {
  const loans = rows.flatMap((one) =>
    one.sourceLoanNumber !== undefined && ("row" in one || one.assumesCurrency)
      ? [{ lenderId, loan: one.sourceLoanNumber }]
      : [],
  );
  return new Map((await lockCasesForImport(tx, loans)).map((one) => [one.sourceLoanNumber, one]));
}

function insertNewCases(tx: Tx, plans: readonly PlannedRow[], now: Date): Promise<ImportedCase[]> {
  const newOnes = plans.flatMap(({ plan }) => ("events" in plan && isNew(plan) ? [plan] : []));
  return insertCases(
    tx,
    newOnes.map(({ caseAfter }) => caseAfter),
    newOnes.flatMap(({ replaces }) => (replaces ? [replaces] : [])),
    now,
  );
}

/** Tells whether a row creates a case: the first one of its loan, or the one of the next cycle. */
function isNew(plan: RowPlan): boolean {
  return plan.outcome === "created" || (plan.outcome === "reopened" && plan.replaces !== undefined);
}

function newCaseIdOf({ plan }: PlannedRow): string | undefined {
  return "caseAfter" in plan && isNew(plan) ? plan.caseAfter.id : undefined;
}

function accountsFor(created: readonly Applied[], lenderId: string) {
  const currencies = new Set(created.map(({ caseAfter }) => caseAfter.currency));
  return [
    ...[...currencies].flatMap((currency) => lenderAccounts(lenderId, currency)),
    ...created.flatMap(({ caseAfter: { id, currency } }) => caseAccounts(lenderId, id, currency)),
  ];
}
