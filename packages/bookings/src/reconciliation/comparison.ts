import type { CurrencyCode } from "@collections/money";
import { LoanSample } from "./loan-sample.ts";

/** A payment as a row of the lender's file reports it. */
export interface ReportedPayment {
  /** The place of the row: its index in a request, or its line in a file. */
  readonly position: number;
  readonly loan: string;
  /** In Unicode NFC. */
  readonly reference: string;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  /** Null if the row does not say when the payment was captured. */
  readonly paidAt: Date | null;
  readonly mode: string | null;
  /** Whether the lender has a case for the loan. Without a case the payment cannot be confirmed. */
  readonly isLoanKnown: boolean;
}

/** A booked payment that a comparison looks at. */
export interface BookedPayment {
  readonly bookingId: string;
  readonly loan: string;
  /** In Unicode NFC. */
  readonly reference: string;
  readonly amountMinor: bigint;
  /** The part of the amount that was reversed. */
  readonly reversedMinor: bigint;
  readonly currency: CurrencyCode;
  readonly paidAt: Date;
}

/**
 * One item of the two ordered streams: a row of the lender, or a booked payment. `hasParts` says that other bookings are
 * parts of the payment.
 */
export type ComparedItem =
  | { readonly row: ReportedPayment }
  | { readonly payment: BookedPayment; readonly hasParts?: boolean };

/**
 * An item that is compared with the other leftovers of its loan:
 * - `row`: a row without a payment of the same reference;
 * - `payment`: a payment without a row, not reversed in full, at most a day outside the window;
 * - `pair`: a row and its payment, which has parts;
 * - `taken`: a payment that belongs to a row, and lies more than a day outside the window.
 */
export type Leftover =
  | { readonly kind: "row"; readonly row: ReportedPayment }
  | { readonly kind: "payment" | "taken"; readonly payment: BookedPayment }
  | { readonly kind: "pair"; readonly row: ReportedPayment; readonly payment: BookedPayment };

/**
 * The lists of differences. Each row and each payment that does not match is in exactly one list.
 *
 * @example
 * const { totals } = (await reconciliationRun(em, { lenderId, runId }))!;
 * for (const list of DIFFERENCE_LISTS) console.log(list, totals.lists[list]);
 */
export const DIFFERENCE_LISTS = [
  "onlyYours",
  "onlyOurs",
  "referenceDiffers",
  "amountDiffers",
  "onOtherLoan",
  "otherDay",
  "outsideWindow",
  "reversed",
  "rejected",
] as const;

/** The name of a list of differences. */
export type DifferenceList = (typeof DIFFERENCE_LISTS)[number];

/** A row without its payment, a payment without its row, or a row and a payment that do not agree. */
export interface FoundDifference {
  readonly list: DifferenceList;
  readonly row: ReportedPayment | null;
  readonly payment: BookedPayment | null;
  /** For a rejected row: the position of the earlier row with the same loan, reference and amount. */
  readonly duplicateOf?: number;
  /** For a rejected row: the positions of the first rows with its loan and reference, whose amounts differ. */
  readonly conflicting?: readonly number[];
  /** For a rejected row: the loan has more rows or payments than are compared. */
  readonly isOverLimit?: true;
}

/** The number and the sum of payments in one currency. */
export interface CurrencyTotal {
  readonly currency: CurrencyCode;
  readonly count: number;
  readonly amountMinor: bigint;
}

/** The result of a step of a comparison. */
export interface Compared {
  readonly differences: FoundDifference[];
  readonly leftovers: Leftover[];
}

/** The matches of a comparison, and the counts and sums of both sides. */
export interface ComparisonTotals {
  readonly matched: number;
  /** The lender's rows, without the rejected rows. */
  readonly yours: readonly CurrencyTotal[];
  /** The booked payments of the window, net of reversals. Payments that were reversed in full are not counted. */
  readonly ours: readonly CurrencyTotal[];
  /** A sample of the loans of the rows, see LoanSample. Absent in runs of earlier versions. */
  readonly loans?: readonly string[];
}

/** A period of time. `from` is included, `to` is not. */
export interface ReconciliationWindow {
  readonly from: Date;
  readonly to: Date;
}

/** The maximum number of rows that are kept of one loan and reference. */
const MOST_ROWS_OF_A_KEY = 1_000;
const CONFLICTS_NAMED = 10;
const DAY_MS = 86_400_000;

/**
 * The first step of a comparison: finds rows and payments with the same loan and reference. Both come as one stream,
 * ordered by reference, then by loan. Within one reference and loan, the rows come first, in the order of their
 * positions, and then the payments. The memory does not grow with the number of items.
 *
 * The rules; the first rule that applies decides:
 * 1. A row is `rejected` if an earlier row has the same loan, reference and amount.
 * 2. If rows have the same loan and reference and different amounts, nobody but the lender knows whether they are parts of
 *    one payment. All of them are `rejected`, except one if the reference is booked: the row with the booked amount, or
 *    else the first row.
 * 3. A row and a payment with the same loan and reference belong together. If the payment has parts, the pair is left over
 *    for `pairOnLoan`. Otherwise `listOf` decides.
 * 4. A payment that was reversed in full and has no row is ignored.
 * 5. Other rows and payments are left over for `pairOnLoan`.
 *
 * @example
 * const day = { from: new Date("2026-11-20T18:30:00Z"), to: new Date("2026-11-21T18:30:00Z") };
 * const comparison = new Comparison(day);
 * for (const item of items) comparison.add(item);
 * comparison.end();
 * const { differences, leftovers } = comparison.take();
 * console.log(comparison.totals().matched, differences.length, leftovers.length);
 */
export class Comparison {
  readonly #window: ReconciliationWindow;
  readonly #yours = new Totals();
  readonly #ours = new Totals();
  readonly #loans = new LoanSample();
  #matched = 0;
  #differences: FoundDifference[] = [];
  #leftovers: Leftover[] = [];
  #key: { readonly reference: string; readonly loan: string } | undefined;
  /** The rows of the current key that have no payment yet. */
  #rows: ReportedPayment[] = [];

  constructor(window: ReconciliationWindow) {
    this.#window = window;
  }

  /** Takes the next item of the stream. */
  add(item: ComparedItem): void {
    const key = "row" in item ? item.row : item.payment;
    if (this.#key?.reference !== key.reference || this.#key.loan !== key.loan) {
      this.#endKey();
      this.#key = { reference: key.reference, loan: key.loan };
    }
    if ("row" in item) this.#addRow(item.row);
    else this.#addPayment(item.payment, item.hasParts ?? false);
  }

  /** Ends the last reference. Call it once, after the last item. */
  end(): void {
    this.#endKey();
  }

  /** Returns and forgets what was found since the last call. Later items do not change it. */
  take(): Compared {
    return { differences: this.#differences.splice(0), leftovers: this.#leftovers.splice(0) };
  }

  /** Counts rows that match a booking by themselves. They are not in the stream. */
  addMatched(rows: readonly ReportedPayment[]): void {
    this.#matched += rows.length;
    this.#countMatched(rows, 1);
    for (const loan of new Set(rows.map((row) => row.loan))) this.#loans.add(loan);
  }

  /** Takes back rows of `addMatched`, which are in the stream after all. */
  removeMatched(rows: readonly ReportedPayment[]): void {
    this.#matched -= rows.length;
    this.#countMatched(rows, -1);
  }

  /** Returns the differences of payments that belong to no row. They are not in the stream. */
  addAlone(payments: readonly BookedPayment[]): FoundDifference[] {
    const ours = payments.filter((payment) => netOf(payment) > 0n && isIn(this.#window, payment.paidAt));
    for (const payment of ours) this.#ours.add(payment.currency, netOf(payment));
    return ours.map((payment) => ({ list: "onlyOurs", row: null, payment }));
  }

  /** Counts rows that `pairOnLoan` has matched, and changes the sums of the payments by its corrections. */
  correct(matched: number, ours: readonly CurrencyTotal[]): void {
    this.#matched += matched;
    for (const { currency, count, amountMinor } of ours) this.#ours.add(currency, amountMinor, count);
  }

  /** Returns the matches, and the counts and sums of everything that was added. */
  totals(): ComparisonTotals {
    return {
      matched: this.#matched,
      yours: this.#yours.byCurrency(),
      ours: this.#ours.byCurrency(),
      loans: this.#loans.hashes(),
    };
  }

  #countMatched(rows: readonly ReportedPayment[], count: 1 | -1): void {
    for (const { currency, amountMinor } of rows) {
      this.#yours.add(currency, BigInt(count) * amountMinor, count);
      this.#ours.add(currency, BigInt(count) * amountMinor, count);
    }
  }

  #addRow(row: ReportedPayment): void {
    const first = this.#rows[0];
    if (first && isSameMoney(first, row)) {
      this.#differences.push({ list: "rejected", row, payment: null, duplicateOf: first.position });
    } else if (this.#rows.length >= MOST_ROWS_OF_A_KEY) {
      this.#reject([row]);
    } else {
      if (!first) this.#loans.add(row.loan);
      this.#rows.push(row);
    }
  }

  #addPayment(payment: BookedPayment, hasParts: boolean): void {
    const netMinor = netOf(payment);
    if (netMinor > 0n && isIn(this.#window, payment.paidAt)) this.#ours.add(payment.currency, netMinor);
    const [first] = this.#rows;
    if (first) {
      const row = this.#rows.find((one) => isSameMoney(one, { ...payment, amountMinor: netMinor })) ?? first;
      this.#reject(this.#rows.filter((one) => one !== row));
      this.#rows = [];
      this.#yours.add(row.currency, row.amountMinor);
      this.#compare(row, payment, hasParts);
    } else if (netMinor > 0n && !isFar(this.#window, payment.paidAt)) {
      this.#leftovers.push({ kind: "payment", payment });
    }
  }

  #compare(row: ReportedPayment, payment: BookedPayment, hasParts: boolean): void {
    if (hasParts) {
      this.#leftovers.push({ kind: "pair", row, payment });
      return;
    }
    if (isFar(this.#window, payment.paidAt)) this.#leftovers.push({ kind: "taken", payment });
    const list = listOf(row, payment, this.#window);
    if (list) this.#differences.push({ list, row, payment });
    else this.#matched += 1;
  }

  #endKey(): void {
    const [row, another] = this.#rows;
    if (another) this.#reject(this.#rows);
    else if (row) {
      this.#yours.add(row.currency, row.amountMinor);
      this.#leftovers.push({ kind: "row", row });
    }
    this.#rows = [];
  }

  /** Rejects rows of the current key because the amounts of its rows differ. */
  #reject(rows: readonly ReportedPayment[]): void {
    const conflicting = this.#rows.slice(0, CONFLICTS_NAMED).map(({ position }) => position);
    for (const row of rows) this.#differences.push({ list: "rejected", row, payment: null, conflicting });
  }
}

/** Returns the list of a row and a payment that belong together; undefined if they match. */
export function listOf(
  row: ReportedPayment,
  payment: BookedPayment,
  window: ReconciliationWindow,
): DifferenceList | undefined {
  if (!isSameMoney(row, { ...payment, amountMinor: netOf(payment) })) {
    return payment.reversedMinor > 0n ? "reversed" : "amountDiffers";
  }
  return listOfDay(row, window) ?? (isIn(window, payment.paidAt) ? undefined : "otherDay");
}

/** Returns the list of a row whose own time lies outside the window; undefined for any other row. */
export function listOfDay({ paidAt }: ReportedPayment, window: ReconciliationWindow): DifferenceList | undefined {
  if (paidAt === null || isIn(window, paidAt)) return undefined;
  return isFar(window, paidAt) ? "outsideWindow" : "otherDay";
}

/**
 * Tells whether a time is in a window.
 *
 * @example
 * const paidInWindow = rows.filter(({ paidAt }) => paidAt !== null && isIn(window, paidAt));
 */
export function isIn({ from, to }: ReconciliationWindow, at: Date): boolean {
  return from <= at && at < to;
}

/** Tells whether a time is more than a day before or after a window. */
export function isFar({ from, to }: ReconciliationWindow, at: Date): boolean {
  return at.getTime() < from.getTime() - DAY_MS || at.getTime() >= to.getTime() + DAY_MS;
}

/** Returns the amount of a payment without the part that was reversed. */
export function netOf({ amountMinor, reversedMinor }: BookedPayment): bigint {
  return amountMinor - reversedMinor;
}

type Money = Pick<ReportedPayment, "currency" | "amountMinor">;

function isSameMoney(one: Money, other: Money): boolean {
  return one.currency === other.currency && one.amountMinor === other.amountMinor;
}

/** Counts and sums of payments, by currency. */
class Totals {
  readonly #byCurrency = new Map<CurrencyCode, { count: number; amountMinor: bigint }>();

  add(currency: CurrencyCode, amountMinor: bigint, count = 1): void {
    const total = this.#byCurrency.get(currency);
    if (total === undefined) this.#byCurrency.set(currency, { count, amountMinor });
    else {
      total.count += count;
      total.amountMinor += amountMinor;
    }
  }

  byCurrency(): CurrencyTotal[] {
    return [...this.#byCurrency]
      .filter(([, { count }]) => count > 0)
      .map(([currency, total]) => ({ currency, ...total }))
      .toSorted((one, other) => (one.currency < other.currency ? -1 : 1));
  }
}
