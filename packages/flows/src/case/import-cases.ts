import {
  adjustment,
  type Booking,
  caseAccounts,
  lenderAccounts,
  openAccounts,
  paymentsAfter,
  placement,
  postTransfers,
  reversalsAfter,
} from "@collections/bookings";
import {
  type CheckedRow,
  checkRowsInTurns,
  endsOfCases,
  inCurrencyOfCase,
  type ImportedCase,
  type ImportRun,
  importRun,
  insertCases,
  type LaterPayment,
  type LaterReversal,
  lockCasesForImport,
  planRow,
  recordImport,
  recordUnappliedImport,
  type RefusedRow,
  type RowPlan,
  writeBalanceDates,
  writeImportedCases,
} from "@collections/cases";
import {
  type EntityManager,
  inTurns,
  isUniqueViolation,
  newId,
  sqlState,
  transaction,
  type Tx,
} from "@collections/database";
import type { LenderProfile } from "@collections/lenders";
import { signalCaseChange } from "./case-channel.ts";
import { creditEnded } from "./credit-ended.ts";
import { caseEvent, emitCaseEvents } from "./event.ts";
import { type ImportResult, importResult, type PlannedRow } from "./import-result.ts";
import { asRefusedBefore, refusedByCase, repeatedImport } from "./repeated-import.ts";

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
  const checked = await checkRowsInTurns(request.rows, request.lender, attempt.receivedAt);
  try {
    return await apply(em, checked, attempt, environment);
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
    return transaction(em, async (tx) => repeatedImport(rows, await currentCases(tx, rows, request.lender.id), before));
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
  const planned = new Map<number, PlannedRow>();
  let open = checked;
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
  writeBalanceDates(
    tx,
    [...planned.values()].flatMap(({ plan }) =>
      plan.outcome === "unchanged" && plan.movesBalanceDate ? [plan.caseAfter] : [],
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

async function planRows(
  tx: Tx,
  rows: readonly CheckedRow[],
  { lender, rows: raw, receivedAt }: ImportAttempt,
  importId: string,
  now: Date,
): Promise<PlannedRow[]> {
  const current = await currentCases(tx, rows, lender.id);
  const read = rows.map((one) => {
    const theCase = current.get(one.sourceLoanNumber);
    return theCase === undefined ? one : inCurrencyOfCase(one, raw[one.index], lender, theCase.currency, receivedAt);
  });
  const { laterPayments, laterReversals } = await laterThanBalances(tx, read, current, lender.id);
  return inTurns(read, (checked): PlannedRow => {
    if ("errors" in checked) return { checked, plan: { outcome: "rejected", errors: checked.errors } };
    const facts = {
      lenderId: lender.id,
      importId,
      newCaseId: newId(),
      laterPayments: laterPayments.get(checked.sourceLoanNumber) ?? [],
      laterReversals: laterReversals.get(checked.sourceLoanNumber) ?? [],
      now,
    };
    return { checked, plan: planRow(checked.row, current.get(checked.sourceLoanNumber), facts) };
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

interface LaterThanBalances {
  readonly laterPayments: ReadonlyMap<string, readonly LaterPayment[]>;
  readonly laterReversals: ReadonlyMap<string, readonly LaterReversal[]>;
}

/**
 * Returns, by loan, the payments that were captured after the row's `outstandingAsOf`, and the reversals that happened
 * after it. Payments and reversals of an earlier cycle count only if the balance is newer than the end of that cycle:
 * an older balance says nothing about the present cycle.
 */
async function laterThanBalances(
  tx: Tx,
  rows: readonly CheckedRow[],
  current: ReadonlyMap<string | undefined, ImportedCase>,
  lenderId: string,
): Promise<LaterThanBalances> {
  const balances = rows.flatMap((one) => {
    const after = asOf(one);
    return "row" in one && after ? [{ lenderId, loan: one.sourceLoanNumber, after }] : [];
  });
  const [payments, reversals] = await Promise.all([paymentsAfter(tx, balances), reversalsAfter(tx, balances)]);
  const isOfCurrentCase = ({ sourceLoanNumber, caseId }: OfLoan) => caseId === current.get(sourceLoanNumber)?.id;
  const earlierCases = new Set([...payments, ...reversals].flatMap((one) => (isOfCurrentCase(one) ? [] : one.caseId)));
  const ends = await endsOfCases(tx, lenderId, [...earlierCases]);
  const afterOf = new Map(balances.map(({ loan, after }) => [loan, after]));
  const counts = (one: OfLoan) => {
    if (isOfCurrentCase(one)) return true;
    const end = ends.get(one.caseId);
    const isOfSameCurrency = one.currency === current.get(one.sourceLoanNumber)?.currency;
    return isOfSameCurrency && end !== undefined && end <= afterOf.get(one.sourceLoanNumber)!;
  };
  const loanOf = ({ sourceLoanNumber }: OfLoan) => sourceLoanNumber;
  return {
    laterPayments: Map.groupBy(payments.filter(counts), loanOf),
    laterReversals: Map.groupBy(reversals.filter(counts), loanOf),
  };
}

type OfLoan = Pick<Booking, "sourceLoanNumber" | "caseId" | "currency">;

/** Returns the row's `outstandingAsOf`, if it has one. */
function asOf(checked: CheckedRow): Date | undefined {
  return "row" in checked && checked.row.action === "upsert"
    ? (checked.row.details.outstandingAsOf ?? undefined)
    : undefined;
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

function isNew({ outcome }: RowPlan): boolean {
  return outcome === "created" || outcome === "reopened";
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
