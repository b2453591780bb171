import {
  type CheckedRow,
  checkRowsInTurns,
  inCurrencyOfCase,
  type ImportedCase,
  type ImportRun,
  importRun,
  insertCases,
  type LaterPayment,
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
import {
  adjustment,
  caseAccounts,
  lenderAccounts,
  openAccounts,
  paymentsAfter,
  placement,
  postTransfers,
} from "@collections/ledger";
import type { LenderProfile } from "@collections/lenders";
import { emit } from "@collections/webhooks";
import { creditEnded } from "./credit-ended.ts";
import { caseEvent } from "./event.ts";
import { type ImportResult, importResult, type JudgedRow } from "./import-result.ts";
import { asRefusedBefore, refusedByCase, repeatedImport } from "./repeated-import.ts";

/**
 * Rows that one import takes at most (contract: Limits).
 *
 * @example
 * for (let from = 0; from < nightlyRows.length; from += MAX_IMPORT_ROWS) {
 *   const rows = nightlyRows.slice(from, from + MAX_IMPORT_ROWS);
 *   await importCases(em, { lender, rows, dryRun: false, atomic: false }, "live");
 * }
 */
export const MAX_IMPORT_ROWS = 1_000;

/** A lender's rows and how to take them. */
export interface ImportRequest {
  readonly lender: LenderProfile;
  /** As parsed, amounts as `AmountLiteral`; at most MAX_IMPORT_ROWS. */
  readonly rows: readonly unknown[];
  /** Do everything but keep it. */
  readonly dryRun: boolean;
  /** All rows or none. */
  readonly atomic: boolean;
  /**
   * The UUID of the request. The first import with it fixes `dryRun` and `atomic`: a repeat writes nothing and is answered
   * as the first one was. Default: a new one, and then only an applied import is recorded.
   */
  readonly importId?: string;
  /** Writes what has to be there exactly when the rows are: in their transaction, last. Not called when nothing is kept. */
  readonly beforeCommit?: (tx: Tx, result: ImportResult) => Promise<void>;
}

const DEADLOCK = "40P01";

/**
 * Applies a file's rows to the lender's cases (contract: Partner endpoints, POST cases): good rows are applied although
 * others fail, unless `atomic`. Sending a file twice is harmless, also at the same time. A dry run does all of it and
 * rolls it back.
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
    if (error instanceof TakenBack) {
      if (await isFirstUse(em, request, error)) return error.result;
    } else if (!isUniqueViolation(error)) {
      throw error;
    }
    const before = request.importId && (await importRun(em, request.lender.id, request.importId));
    if (!before) throw error;
    return answerAgain(em, checked, attempt, before, environment);
  }
}

/** @throws TakenBack when nothing is kept */
async function apply(
  em: EntityManager,
  checked: readonly CheckedRow[],
  request: ImportAttempt,
  environment: string,
): Promise<ImportResult> {
  const run = () => transaction(em, (tx) => applyRows(tx, checked, request, environment));
  // Files that overlap, sent by several at once, can wait for each other in a circle: PostgreSQL ends one of them.
  return run().catch((error: unknown) => (sqlState(error) === DEADLOCK ? run() : Promise.reject(error)));
}

/** Records a request of which nothing was kept. False when the same request has been recorded before. */
async function isFirstUse(
  em: EntityManager,
  { lender, importId, dryRun, atomic }: ImportRequest,
  { result, refused }: TakenBack,
): Promise<boolean> {
  if (importId === undefined) return true;
  const run = { lenderId: lender.id, importId, dryRun, atomic, summary: { ...result.summary }, refused };
  return transaction(em, (tx) => recordUnappliedImport(tx, run, new Date()));
}

/** Answers a repeat by the switches of the first use. Writes nothing, whatever switches the repeat has. */
async function answerAgain(
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
    if (error instanceof TakenBack) return error.result;
    throw error;
  }
}

interface ImportAttempt extends ImportRequest {
  /** When the rows were first checked: no balance is of a later moment. */
  readonly receivedAt: Date;
  /** Judges the rows again, for the answer alone: nothing is kept. */
  readonly isRepeat?: boolean;
}

/** Rolls back what has been done and carries out what it would have been. */
class TakenBack extends Error {
  override readonly name = "TakenBack";
  readonly result: ImportResult;
  readonly refused: readonly RefusedRow[];

  constructor(result: ImportResult, refused: readonly RefusedRow[]) {
    super("The import is taken back.");
    this.result = result;
    this.refused = refused;
  }
}

/** @throws TakenBack for a dry run, an atomic import with a rejected row, or a repeat. */
async function applyRows(
  tx: Tx,
  checked: readonly CheckedRow[],
  request: ImportAttempt,
  environment: string,
): Promise<ImportResult> {
  const { lender, dryRun, atomic, isRepeat = false } = request;
  const { importId = newId() } = request;
  const now = new Date();

  // Lock the loans, plan each row over its case, and make the new cases; a loan that another import has made in the
  // same moment is locked then and planned again.
  const judged = new Map<number, JudgedRow>();
  let open = checked;
  while (open.length > 0) {
    const plans = await judgeRows(tx, open, request, importId, now);
    const missed = new Set((await insertNewCases(tx, plans, now)).map(({ id }) => id));
    for (const one of plans) if (!missed.has(newCaseIdOf(one) ?? "")) judged.set(one.checked.index, one);
    open = open.filter(({ index }) => !judged.has(index));
  }
  const applied = [...judged.values()].flatMap((one) => ("events" in one.plan ? [{ ...one, plan: one.plan }] : []));

  // Write the set: one statement per table.
  writeImportedCases(
    tx,
    applied.filter(({ plan }) => !isNew(plan)).map(({ plan }) => plan.caseAfter),
    now,
  );
  writeBalanceDates(
    tx,
    [...judged.values()].flatMap(({ plan }) =>
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
  await emit(
    tx,
    applied.flatMap(({ plan }) =>
      plan.events.map((event) => caseEvent({ ...plan.caseAfter, status: event.status }, event, origin)),
    ),
  );
  const inOrder = checked.map(({ index }) => judged.get(index)!);
  const refused = refusedByCase(inOrder, checked);
  // A refused import stays refused when its request is repeated, also if every row is right by now.
  const isRefused = atomic && (inOrder.some(({ plan }) => plan.outcome === "rejected") || (isRepeat && !dryRun));
  const kept = !dryRun && !isRefused && !isRepeat;
  const result = importResult(inOrder, { importId: kept ? importId : null, dryRun, isRefused });
  if (!kept) throw new TakenBack(result, refused);
  recordImport(tx, { lenderId: lender.id, importId, atomic, summary: { ...result.summary }, refused }, now);
  await request.beforeCommit?.(tx, result);
  return result;
}

type Applied = Extract<RowPlan, { events: unknown }>;

async function judgeRows(
  tx: Tx,
  rows: readonly CheckedRow[],
  { lender, rows: raw, receivedAt }: ImportAttempt,
  importId: string,
  now: Date,
): Promise<JudgedRow[]> {
  const current = await currentCases(tx, rows, lender.id);
  const read = rows.map((one) => {
    const theCase = current.get(one.sourceLoanNumber);
    return theCase === undefined ? one : inCurrencyOfCase(one, raw[one.index], lender, theCase.currency, receivedAt);
  });
  const laterPayments = await paymentsAfterBalances(tx, read, current, lender.id);
  return inTurns(read, (checked): JudgedRow => {
    if ("errors" in checked) return { checked, plan: { outcome: "rejected", errors: checked.errors } };
    const facts = {
      lenderId: lender.id,
      importId,
      newCaseId: newId(),
      laterPayments: laterPayments.get(checked.sourceLoanNumber) ?? [],
      now,
    };
    return { checked, plan: planRow(checked.row, current.get(checked.sourceLoanNumber), facts) };
  });
}

/** By loan: its current case, locked, where the verdict on a row depends on it. */
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

/** By loan: the payments of its current case that were captured after the moment of the row's balance. */
async function paymentsAfterBalances(
  tx: Tx,
  rows: readonly CheckedRow[],
  current: ReadonlyMap<string | undefined, ImportedCase>,
  lenderId: string,
): Promise<Map<string, LaterPayment[]>> {
  const balances = rows.flatMap((one) => {
    const after = asOf(one);
    return "row" in one && after ? [{ lenderId, loan: one.sourceLoanNumber, after }] : [];
  });
  // A payment of an earlier cycle has nothing to do with the balance of this one.
  const payments = (await paymentsAfter(tx, balances)).filter(
    ({ sourceLoanNumber, caseId }) => caseId === current.get(sourceLoanNumber)?.id,
  );
  return Map.groupBy(payments, ({ sourceLoanNumber }) => sourceLoanNumber);
}

/** The moment of the row's balance, where the row names one. */
function asOf(checked: CheckedRow): Date | undefined {
  return "row" in checked && checked.row.action === "upsert"
    ? (checked.row.details.outstandingAsOf ?? undefined)
    : undefined;
}

function insertNewCases(tx: Tx, plans: readonly JudgedRow[], now: Date): Promise<ImportedCase[]> {
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

function newCaseIdOf({ plan }: JudgedRow): string | undefined {
  return "caseAfter" in plan && isNew(plan) ? plan.caseAfter.id : undefined;
}

function accountsFor(created: readonly Applied[], lenderId: string) {
  const currencies = new Set(created.map(({ caseAfter }) => caseAfter.currency));
  return [
    ...[...currencies].flatMap((currency) => lenderAccounts(lenderId, currency)),
    ...created.flatMap(({ caseAfter: { id, currency } }) => caseAccounts(lenderId, id, currency)),
  ];
}
