import {
  beginRun,
  Comparison,
  DIFFERENCE_LISTS,
  type DifferenceList,
  differencesOf,
  endRun,
  type FoundDifference,
  goneDifferences,
  type ReconciliationDifference,
  type ReconciliationRun,
  reconciliationRun,
  type ReconciliationWindow,
  recordDifferences,
  type ReportedPayment,
  type RunKey,
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
 * The longest window of one reconciliation, in days (contract: Limits). It bounds the work of a request: a window of a
 * month fits in.
 *
 * @example
 * const isTooLong = to.getTime() - from.getTime() > MAX_WINDOW_DAYS * 86_400_000;
 */
export const MAX_WINDOW_DAYS = 32;

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
  /** The differences of the previous run of the same window that this run did not find. Null without a previous run. */
  readonly gone: { readonly count: number; readonly differences: readonly ReconciliationDifference[] } | null;
}

/**
 * Compares a lender's list of payments with the bookings, and stores the result as a run (contract: Reconciliation). It
 * changes no payment. Everything is one transaction: a run that is killed leaves nothing. The memory that it needs does
 * not grow with the number of rows and payments.
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
    // A concurrent repeat of the same request has stored the run.
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
  const { previousRunId } = run;
  const gone = previousRunId === null ? null : await goneDifferences(em, { ...key, previousRunId }, mostPerList);
  return { run, differences: Object.fromEntries(lists) as Reconciliation["differences"], gone };
}

async function compare(tx: Tx, key: RunKey, request: ReconcileRequest): Promise<void> {
  const { window, requestedBy, fileName, mostPerList, onProgress } = request;
  await beginRun(tx, {
    lenderId: key.lenderId,
    id: key.runId,
    windowFrom: window.from,
    windowTo: window.to,
    requestedBy,
    fileName,
    startedAt: new Date(),
  });
  const store = new DifferenceStore(tx, key, { mostPerList, isFile: fileName !== null });

  // Store both sides in the order of the comparison.
  let rowsRead = 0;
  for await (const page of request.rows) {
    store.addRejected(await stagePage(tx, key, request, page));
    rowsRead += page.length;
    onProgress?.(rowsRead);
  }
  await stagePayments(tx, key, window);

  // Compare them page by page.
  const comparison = new Comparison(window);
  for await (const items of stagedItems(tx, key)) store.add(items.flatMap((item) => comparison.add(item)));
  store.add(comparison.end());
  const totals = comparison.totals();
  await endRun(tx, { ...key, window }, { ...totals, lists: { ...totals.lists, rejected: store.rejected } });
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

/** Numbers the differences of a run and stores the first ones of each list. */
class DifferenceStore {
  readonly #tx: Tx;
  readonly #key: RunKey;
  readonly #mostPerList: number;
  readonly #noun: string;
  readonly #counts = new Map<DifferenceList, number>();
  #place = 0;

  constructor(tx: Tx, key: RunKey, { mostPerList, isFile }: { mostPerList: number; isFile: boolean }) {
    this.#tx = tx;
    this.#key = key;
    this.#mostPerList = mostPerList;
    this.#noun = isFile ? "Line" : "Row";
  }

  /** The number of rejected rows, whether they are stored or not. */
  get rejected(): number {
    return this.#counts.get("rejected") ?? 0;
  }

  addRejected(rows: readonly FaultyPaymentRow[]): void {
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

  add(found: readonly FoundDifference[]): void {
    this.#store(found.map((difference) => this.#differenceOf(difference)));
  }

  #store(differences: readonly ReconciliationDifference[]): void {
    const kept = differences.filter(({ list }) => {
      const count = this.#counts.get(list) ?? 0;
      this.#counts.set(list, count + 1);
      return count < this.#mostPerList;
    });
    const numbered = kept.map((difference) => ({ ...difference, place: this.#place++ }));
    recordDifferences(this.#tx, this.#key, numbered);
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
