import {
  Comparison,
  DIFFERENCE_LISTS,
  type DifferenceList,
  differencesOf,
  type FoundDifference,
  type GoneDifference,
  goneDifferences,
  GoneFinder,
  lastRunOf,
  lockReconciliations,
  markFound,
  markPrevious,
  marksOf,
  pairElsewhere,
  paymentsElsewhere,
  type ReconciliationDifference,
  type ReconciliationRun,
  reconciliationRun,
  type ReconciliationWindow,
  recordDifferences,
  recordGone,
  recordRun,
  type ReportedPayment,
  RunDigest,
  type RunKey,
  type RunTotals,
  stageDistantPayments,
  stagedItems,
  stagePayments,
  stageRows,
} from "@collections/bookings";
import { currenciesOfLoans } from "@collections/cases";
import { type EntityManager, isUniqueViolation, transaction, type Tx } from "@collections/database";
import { type CurrencyCode, readAmount } from "@collections/money";
import { bookedReference, possibleReferences } from "../payment/reference.ts";
import type { CheckedPaymentRow, FaultyPaymentRow } from "./payment-row.ts";

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

/** The number of rows without a payment whose references are looked up by one query. */
const MISSING_ROWS_A_PAGE = 20_000;

/** A lender's list of payments to compare with the bookings. */
export interface ReconcileRequest {
  readonly lender: { readonly id: string; readonly currency: CurrencyCode };
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
  /** Is called with the number of rows that were read so far. */
  readonly onProgress?: (rows: number) => void;
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
 * Another reconciliation of the lender is running. Only one runs at a time, so that a lender cannot use up the database's
 * time. Try again when it has ended.
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
 * changes no payment. Everything is one transaction: a run that is killed leaves nothing. The memory that it needs does
 * not grow with the number of rows and payments. Throws ReconciliationRunningError.
 *
 * @example
 * const asked = { lender, runId: newId(), requestedBy: "operator", fileName: null, mostPerList: 500 };
 * await reconcile(em, { ...asked, window: { from, to }, rows: [[checked]] });
 */
export async function reconcile(em: EntityManager, request: ReconcileRequest): Promise<void> {
  const key = { lenderId: request.lender.id, runId: request.runId };
  if (await reconciliationRun(em, key)) return;
  try {
    await transaction(em, (tx) => compare(tx, key, request));
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
    lists.push([list, isEmpty ? [] : await differencesOf(em, key, list, { limit: mostPerList })]);
  }
  const gone = run.previousRunId === null ? null : await goneDifferences(em, key, mostPerList);
  return {
    run,
    differences: Object.fromEntries(lists) as Reconciliation["differences"],
    gone: gone && { count: run.totals.gone, differences: gone },
  };
}

async function compare(tx: Tx, key: RunKey, request: ReconcileRequest): Promise<void> {
  const { window, requestedBy, fileName, mostPerList, onProgress } = request;
  // Do not wait for the lock: a waiting run would occupy a connection.
  if (!(await lockReconciliations(tx, key.lenderId))) throw new ReconciliationRunningError();
  // A repeat of this request may have stored the run meanwhile.
  if (await reconciliationRun(tx, key)) return;
  const startedAt = new Date();
  const previous = await lastRunOf(tx, key.lenderId, window);
  if (previous) await markPrevious(tx, key, previous.id);
  const gone = new GoneStore(tx, key, previous && mostPerList);
  const store = new DifferenceStore(tx, key, { window, mostPerList, isFile: fileName !== null });

  // Store both sides in the order of the comparison. While the database stores a page, the next page is read.
  let rowsRead = 0;
  let staging = Promise.resolve();
  for await (const page of request.rows) {
    await staging;
    staging = stagePage(tx, key, request, page).then((rejected) => store.addRejected(rejected));
    // The next `await` reports a failure, unless reading the rows fails first.
    staging.catch(() => {});
    rowsRead += page.length;
    onProgress?.(rowsRead);
  }
  await staging;
  let compared = rowsRead + (await stagePayments(tx, key, window));

  // Compare them page by page.
  const comparison = new Comparison(window);
  const add = async (found: readonly FoundDifference[]) => {
    await gone.add(found);
    await store.add(found);
  };
  for await (const items of stagedItems(tx, key)) {
    compared += items.length;
    await add(items.flatMap((item) => comparison.add(item)));
  }
  await add(comparison.end());
  const goneCount = await gone.end();
  const { totals, stored, digest } = await store.end();
  recordRun(tx, {
    lenderId: key.lenderId,
    id: key.runId,
    windowFrom: window.from,
    windowTo: window.to,
    requestedBy,
    fileName,
    totals: {
      ...comparison.totals(),
      ...totals,
      gone: previous?.isComplete ? goneCount : null,
    },
    previousRunId: previous?.id ?? null,
    startedAt,
    digest,
    compared: BigInt(compared),
    stored: BigInt(stored),
  });
}

/** Stores the valid rows of a page for the comparison, and returns the others. */
async function stagePage(
  tx: Tx,
  key: RunKey,
  { lender, window }: ReconcileRequest,
  page: readonly CheckedPaymentRow[],
): Promise<FaultyPaymentRow[]> {
  const readable = page.flatMap((checked) => ("row" in checked ? [checked] : []));
  const currencies = await currenciesOfLoans(
    tx,
    lender.id,
    readable.map(({ row }) => row.loan),
  );
  const faulty = page.flatMap((checked) => ("row" in checked ? [] : [checked]));
  const rows = readable.flatMap(({ position, row }): ReportedPayment[] => {
    const known = currencies.get(row.loan);
    const currency = known ?? lender.currency;
    const reading = readAmount(row.amount, currency);
    const reference = bookedReference(row.reference);
    if ("minor" in reading) {
      const { loan, paidAt, mode } = row;
      const isLoanKnown = known !== undefined;
      return [{ position, loan, reference, amountMinor: reading.minor, currency, paidAt, mode, isLoanKnown }];
    }
    const fault = { code: reading.fault, pointer: `/rows/${position}/amount`, detail: reading.detail };
    faulty.push({ position, loan: row.loan, reference, faults: [fault] });
    return [];
  });
  stageRows(tx, key, rows);
  const keys = readable.flatMap(({ row: { loan, reference } }) =>
    possibleReferences(reference).map((possible) => ({ loan, reference: possible })),
  );
  await stageDistantPayments(tx, key, window, keys);
  return faulty.toSorted((one, other) => one.position - other.position);
}

/** Counts the differences of the previous run that are gone, and stores the first ones. */
class GoneStore {
  readonly #tx: Tx;
  readonly #key: RunKey;
  readonly #most: number;
  readonly #finder: GoneFinder | undefined;
  #count = 0;

  /** `most` is the maximum number of differences to store, or undefined if there is no previous run. */
  constructor(tx: Tx, key: RunKey, most: number | undefined) {
    this.#tx = tx;
    this.#key = key;
    this.#most = most ?? 0;
    this.#finder = most === undefined ? undefined : new GoneFinder(marksOf(tx, key));
  }

  async add(found: readonly FoundDifference[]): Promise<void> {
    if (this.#finder && found.length > 0) this.#store(await this.#finder.add(found));
  }

  /** Stores the last differences, and returns the number of all. */
  async end(): Promise<number> {
    if (this.#finder) this.#store(await this.#finder.end());
    return this.#count;
  }

  #store(gone: readonly GoneDifference[]): void {
    recordGone(this.#tx, this.#key, gone.slice(0, Math.max(this.#most - this.#count, 0)));
    this.#count += gone.length;
  }
}

/** The result of storing the differences of a run. */
interface StoredDifferences {
  readonly totals: Pick<RunTotals, "lists" | "isComplete">;
  readonly stored: number;
  readonly digest: Buffer;
}

/** Counts and numbers the differences of a run, and stores the first ones of each list. */
class DifferenceStore {
  readonly #tx: Tx;
  readonly #key: RunKey;
  readonly #window: ReconciliationWindow;
  readonly #mostPerList: number;
  readonly #noun: string;
  readonly #lists = Object.fromEntries(DIFFERENCE_LISTS.map((list) => [list, 0])) as Record<DifferenceList, number>;
  /**
   * Rows without a payment in or near the window. Such a row may have a payment elsewhere, which is looked up for many
   * rows at once.
   */
  #missing: FoundDifference[] = [];
  #place = 0;
  readonly #digest: RunDigest;

  constructor(
    tx: Tx,
    key: RunKey,
    {
      window,
      mostPerList,
      isFile,
    }: { readonly window: ReconciliationWindow; readonly mostPerList: number; readonly isFile: boolean },
  ) {
    this.#tx = tx;
    this.#key = key;
    this.#window = window;
    this.#mostPerList = mostPerList;
    this.#noun = isFile ? "Line" : "Row";
    this.#digest = new RunDigest(key);
  }

  addRejected(rows: readonly FaultyPaymentRow[]): void {
    const readable = rows.flatMap(({ loan, reference, position }) =>
      loan === null || reference === null ? [] : [{ loan, reference, position }],
    );
    markFound(this.#tx, this.#key, readable);
    this.#store(
      rows.map(({ position, loan, reference, faults }) => ({
        ...this.#differenceOf({ list: "rejected", row: null, payment: null }),
        position,
        loan,
        reference,
        faults,
      })),
    );
  }

  async add(found: readonly FoundDifference[]): Promise<void> {
    this.#missing.push(...found.filter(({ list }) => list === "onlyYours"));
    this.#store(found.filter(({ list }) => list !== "onlyYours").map((one) => this.#differenceOf(one)));
    if (this.#missing.length >= MISSING_ROWS_A_PAGE) await this.#endMissing();
  }

  /** Stores the last differences. Returns their numbers by list, whether all are stored, and their digest. */
  async end(): Promise<StoredDifferences> {
    await this.#endMissing();
    const isComplete = Object.values(this.#lists).every((count) => count <= this.#mostPerList);
    return { totals: { lists: { ...this.#lists }, isComplete }, stored: this.#place, digest: this.#digest.end() };
  }

  async #endMissing(): Promise<void> {
    const missing = this.#missing.splice(0);
    const references = [...new Set(missing.map(({ row }) => row!.reference))];
    const elsewhere = await paymentsElsewhere(this.#tx, this.#key, this.#window, references);
    this.#store(pairElsewhere(missing, elsewhere).map((one) => this.#differenceOf(one)));
  }

  #store(differences: readonly ReconciliationDifference[]): void {
    const kept = differences.filter(({ list }) => (this.#lists[list] += 1) <= this.#mostPerList);
    const numbered = kept.map((difference) => ({ ...difference, place: this.#place++ }));
    recordDifferences(this.#tx, this.#key, numbered);
    this.#digest.add(numbered);
  }

  #differenceOf({ list, row, payment, duplicateOf }: FoundDifference): ReconciliationDifference {
    const duplicate = {
      code: "DUPLICATE_IN_REQUEST",
      pointer: `/rows/${row?.position}/reference`,
      detail: `${this.#noun} ${duplicateOf} has the same loan and reference; send each payment once.`,
    };
    return {
      ...this.#key,
      place: 0,
      list,
      loan: row?.loan ?? payment?.loan ?? null,
      reference: row?.reference ?? payment?.reference ?? null,
      position: row?.position ?? null,
      rowMinor: row?.amountMinor ?? null,
      rowCurrency: row?.currency ?? null,
      rowPaidAt: row?.paidAt ?? null,
      rowMode: row?.mode ?? null,
      isLoanKnown: row?.isLoanKnown ?? true,
      bookingId: payment?.bookingId ?? null,
      bookedLoan: payment?.loan ?? null,
      bookedMinor: payment?.amountMinor ?? null,
      reversedMinor: payment?.reversedMinor ?? null,
      bookedCurrency: payment?.currency ?? null,
      bookedPaidAt: payment?.paidAt ?? null,
      faults: duplicateOf === undefined ? [] : [duplicate],
    };
  }
}
