import {
  Comparison,
  DIFFERENCE_LISTS,
  type DifferenceList,
  differencesOf,
  type FoundDifference,
  type GoneDifference,
  goneByMarks,
  goneDifferences,
  hasParts,
  lastRunOf,
  lockReconciliations,
  markPrevious,
  marksOf,
  paymentsOfWindow,
  type ReconciliationDifference,
  type ReconciliationRun,
  reconciliationRun,
  type ReconciliationWindow,
  recordGone,
  recordReconciliationCost,
  recordRun,
  type RunKey,
  StagedKeys,
} from "@collections/bookings";
import { isUniqueViolation, newId, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { recordAct } from "@collections/lenders";
import type { CurrencyCode } from "@collections/money";
import { setImmediate as nextTurn } from "node:timers/promises";
import { compareStaged } from "./compare-staged.ts";
import { DifferenceStore } from "./difference-store.ts";
import { FoundMarks } from "./found-marks.ts";
import type { KnownSequences } from "./known-sequences.ts";
import type { CheckedPaymentRow, FaultyPaymentRow } from "./payment-row.ts";
import { stagePage } from "./stage-page.ts";

/**
 * The maximum number of rows of one request (contract: Limits).
 *
 * @example
 * const isTooLong = rows.length > MAX_RECONCILED_ROWS;
 */
export const MAX_RECONCILED_ROWS = 10_000;

/**
 * The longest window of one reconciliation, in days (contract: Limits). A window of a month fits in. A run also reads the
 * bookings that were made after its window, because a payment may be booked long after it was paid.
 *
 * @example
 * const isTooLong = to.getTime() - from.getTime() > MAX_WINDOW_DAYS * 86_400_000;
 */
export const MAX_WINDOW_DAYS = 32;

/** How many differences are stored before the event loop may run other work, such as confirmations of other lenders. */
const DIFFERENCES_AT_A_TIME = 500;
/** How many differences of a stored run are read by one query. */
const DIFFERENCES_A_PAGE = 1_000;

/** A lender's list of payments to compare with the bookings. */
export interface ReconcileRequest {
  readonly lender: { readonly id: string; readonly currency: CurrencyCode; readonly timeZone: string };
  /** The UUID of the run. If the lender has a run with this id, nothing is compared again. */
  readonly runId: string;
  /** The id of an API key, or `operator`. */
  readonly requestedBy: string;
  /** The name of the file with the rows. Null for a request. */
  readonly fileName: string | null;
  readonly window: ReconciliationWindow;
  /** The rows in pages of some thousands, in the order of their positions. */
  readonly rows: Iterable<readonly CheckedPaymentRow[]> | AsyncIterable<readonly CheckedPaymentRow[]>;
  /** How many differences of each list are stored. All differences are counted. */
  readonly mostPerList: number;
  /** The data that the audit records in the transaction of the run. Without data, the audit records nothing. */
  readonly audited?: Readonly<Record<string, unknown>> | undefined;
  /** Is filled by the run, for `confirmMissing`. */
  readonly known?: KnownSequences;
  /** Is called with the number of rows that were read so far. */
  readonly onProgress?: (rows: number) => void;
  readonly log?: { warn(facts: object, message: string): void };
}

/** The result of a run. */
export interface Reconciliation {
  readonly run: ReconciliationRun;
  /** The first stored differences of each list. `run.totals.lists` has their numbers. */
  readonly differences: Readonly<Record<DifferenceList, readonly ReconciliationDifference[]>>;
  /**
   * The differences of the previous run of the same window that this run did not find. Null without a previous run. The
   * count is null if it is unknown, because the previous run had more differences than are stored. The differences are
   * then those of the stored ones that this run did not find.
   */
  readonly gone: { readonly count: number | null; readonly differences: readonly GoneDifference[] } | null;
}

/**
 * Another reconciliation of the lender is running. Only one runs at a time, to limit the load on the database. Try again when
 * it has ended.
 *
 * @example
 * const asked = { lender, runId: newId(), requestedBy: "operator", fileName: null, mostPerList: 500 };
 * try {
 *   await reconcile(em, { ...asked, window: { from, to }, rows: [[checked]] });
 * } catch (error) {
 *   if (!(error instanceof ReconciliationRunningError)) throw error;
 * }
 */
export class ReconciliationRunningError extends Error {
  override readonly name = "ReconciliationRunningError";
  readonly code = "RECONCILIATION_RUNNING";

  constructor() {
    super("Another reconciliation of this lender is running. Try again when it has ended.");
  }
}

/**
 * Compares a lender's list of payments with the bookings, and stores the result as a run (contract: Reconciliation). It
 * changes no payment. Everything is one transaction, so a run that is killed leaves nothing. The memory does not grow with
 * the number of rows and payments. Throws ReconciliationRunningError.
 *
 * The cost of a request is recorded in transactions of its own, because a run that fails counts, too. A run that is killed
 * counts as MAX_RECONCILED_ROWS. If the cost cannot be recorded at the end, the failure is logged, and the result of the run
 * is the same.
 *
 * @example
 * const asked = { lender, runId: newId(), requestedBy: "operator", fileName: null, mostPerList: 500 };
 * await reconcile(em, { ...asked, window: { from, to }, rows: [[checked]] });
 */
export async function reconcile(em: EntityManager, request: ReconcileRequest): Promise<void> {
  const { lender, runId, fileName, log } = request;
  const key = { lenderId: lender.id, runId };
  if (await reconciliationRun(em, key)) return;
  const cost = { compared: 0 };
  if (fileName !== null) return compareAndStore(em, key, request, cost);
  const attempt = { lenderId: lender.id, id: newId() };
  await recordReconciliationCost(em, { ...attempt, compared: MAX_RECONCILED_ROWS });
  try {
    await compareAndStore(em, key, request, cost);
  } finally {
    await recordReconciliationCost(em, { ...attempt, ...cost }).catch((error: unknown) =>
      log?.warn({ lenderId: lender.id, runId, error }, "the cost of a reconciliation was not recorded"),
    );
  }
}

async function compareAndStore(em: EntityManager, key: RunKey, request: ReconcileRequest, cost: Cost): Promise<void> {
  try {
    await transaction(em, (tx) => compare(tx, key, request, cost));
  } catch (error) {
    // A process of an earlier version, which takes no lock, has stored the run for a repeat of this request.
    if (!isUniqueViolation(error) || !(await reconciliationRun(em, key))) throw error;
  }
}

/**
 * Returns the stored result of a run with at most `mostPerList` differences of each list. Returns undefined if the lender
 * has no such run.
 *
 * @example
 * const { run, differences } = (await reconciliationOf(em, { lenderId, runId }, 500))!;
 * console.log(run.totals.lists.onlyYours, differences.onlyYours[0]?.reference);
 */
export async function reconciliationOf(
  em: EntityManager,
  key: RunKey,
  mostPerList: number,
): Promise<Reconciliation | undefined> {
  const run = await reconciliationRun(em, key);
  if (!run) return undefined;
  const lists: [DifferenceList, readonly ReconciliationDifference[]][] = [];
  for (const list of DIFFERENCE_LISTS) {
    const isEmpty = run.totals.lists[list] === 0;
    lists.push([list, isEmpty ? [] : await firstDifferences(em, key, list, mostPerList)]);
  }
  const gone = run.previousRunId === null ? null : await goneDifferences(em, key, mostPerList);
  return {
    run,
    differences: Object.fromEntries(lists) as Reconciliation["differences"],
    gone: gone && { count: run.totals.gone, differences: gone },
  };
}

/** Reads the first differences of a list page by page, so that other work of the event loop runs between the pages. */
async function firstDifferences(
  em: EntityManager,
  key: RunKey,
  list: DifferenceList,
  most: number,
): Promise<ReconciliationDifference[]> {
  const first: ReconciliationDifference[] = [];
  for (;;) {
    const limit = Math.min(most - first.length, DIFFERENCES_A_PAGE);
    const page = await differencesOf(em, key, list, { after: first.at(-1)?.place, limit });
    first.push(...page);
    if (page.length < limit || first.length >= most) return first;
    await nextTurn();
  }
}

interface Cost {
  /** The number of rows and bookings that the run has read and compared so far. */
  compared: number;
}

async function compare(tx: Tx, key: RunKey, request: ReconcileRequest, cost: Cost): Promise<void> {
  const { window, requestedBy, fileName, mostPerList, lender, audited } = request;
  // Do not wait for the lock: a waiting run would occupy a connection.
  if (!(await lockReconciliations(tx, key.lenderId))) throw new ReconciliationRunningError();
  // A repeat of this request may have stored the run meanwhile.
  if (await reconciliationRun(tx, key)) return;
  const startedAt = new Date();
  const hasEarlier = (await lastRunOf(tx, key.lenderId, window)) !== undefined;
  const found = new FoundMarks(tx, key, hasEarlier);
  const store = new DifferenceStore(tx, key, { mostPerList, isFile: fileName !== null });
  const onFound = async (differences: readonly FoundDifference[]) => {
    for (let first = 0; first < differences.length; first += DIFFERENCES_AT_A_TIME) {
      const some = differences.slice(first, first + DIFFERENCES_AT_A_TIME);
      store.add(some);
      found.add(some);
      await nextTurn();
    }
  };
  const onRejected = (rejected: readonly FaultyPaymentRow[]) => {
    store.addRejected(rejected);
    found.addRejected(rejected);
  };
  const onCompared = (items: number) => (cost.compared += items);
  const comparison = new Comparison(window);
  const staged = new StagedKeys();
  const isDivided = await hasParts(tx, key.lenderId);
  await stageAllRows(tx, key, request, { comparison, staged, isDivided, onRejected, onCompared });
  for await (const { read, contested, alone } of paymentsOfWindow(tx, key, window, { staged, hasParts: isDivided })) {
    comparison.removeMatched(contested.map(({ row }) => row));
    await onFound(comparison.addAlone(alone));
    onCompared(read + alone.length);
  }
  const rules = { window, timeZone: lender.timeZone, isDivided, onFound, onCompared };
  const compared = await compareStaged(tx, key, comparison, rules);
  // A run about other loans is not compared with: everything would be gone.
  const previous = hasEarlier ? await lastRunOf(tx, key.lenderId, window, compared.loans ?? []) : undefined;
  if (previous) await markPrevious(tx, key, previous.id);
  const goneCount = hasEarlier ? await recordGoneOf(tx, key, mostPerList) : 0;
  const { totals, stored, digest } = store.end();
  recordRun(tx, {
    lenderId: key.lenderId,
    id: key.runId,
    windowFrom: window.from,
    windowTo: window.to,
    requestedBy,
    fileName,
    totals: { ...compared, ...totals, gone: previous?.isComplete ? goneCount : null },
    previousRunId: previous?.id ?? null,
    startedAt,
    digest,
    compared: BigInt(cost.compared),
    stored: BigInt(stored),
  });
  if (audited) recordAct(tx, { lenderId: key.lenderId, act: "reconciliation.run", data: audited });
}

interface Staging {
  readonly comparison: Comparison;
  readonly staged: StagedKeys;
  readonly isDivided: boolean;
  readonly onRejected: (rejected: readonly FaultyPaymentRow[]) => void;
  readonly onCompared: (items: number) => void;
}

/** Stores all rows, page by page. While the database stores a page, the next page is read. */
async function stageAllRows(
  tx: Tx,
  key: RunKey,
  { rows, lender, window, known, onProgress }: ReconcileRequest,
  { comparison, staged, isDivided, onRejected, onCompared }: Staging,
): Promise<void> {
  let rowsRead = 0;
  let staging = Promise.resolve();
  for await (const page of rows) {
    await staging;
    staging = stagePage(tx, key, page, { lender, window, staged, hasParts: isDivided, known }).then(
      ({ matched, faulty }) => {
        comparison.addMatched(matched);
        onRejected(faulty);
        // A match is a row and its booking.
        onCompared(page.length + 2 * matched.length);
      },
    );
    // The next `await` reports a failure, unless reading the rows fails first.
    staging.catch(() => {});
    rowsRead += page.length;
    onProgress?.(rowsRead);
  }
  await staging;
}

/** Stores the first differences that are gone, deletes all marks of the run, and returns the number of all. */
async function recordGoneOf(tx: Tx, key: RunKey, most: number): Promise<number> {
  let count = 0;
  for await (const gone of goneByMarks(marksOf(tx, key))) {
    recordGone(tx, key, gone.slice(0, Math.max(most - count, 0)));
    count += gone.length;
  }
  return count;
}
