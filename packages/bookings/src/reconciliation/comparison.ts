import type { CurrencyCode } from "@collections/money";

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

/** One item of the two ordered streams: a row of the lender, or a booked payment. */
export type ComparedItem = { readonly row: ReportedPayment } | { readonly payment: BookedPayment };

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
  "amountDiffers",
  "onOtherLoan",
  "otherDay",
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
  /** For a rejected row: the position of the earlier row with the same loan and reference. */
  readonly duplicateOf?: number;
}

/** The number and the sum of payments in one currency. */
export interface CurrencyTotal {
  readonly currency: CurrencyCode;
  readonly count: number;
  readonly amountMinor: bigint;
}

/** The matches of a comparison, and the counts and sums of both sides. */
export interface ComparisonTotals {
  readonly matched: number;
  /** The lender's rows, without the rejected rows. */
  readonly yours: readonly CurrencyTotal[];
  /** The booked payments of the window, net of reversals. Payments that were reversed in full are not counted. */
  readonly ours: readonly CurrencyTotal[];
}

/** A period of time. `from` is included, `to` is not. */
export interface ReconciliationWindow {
  readonly from: Date;
  readonly to: Date;
}

/**
 * The maximum number of rows without a payment, and of payments without a row, that one reference may have. A reference
 * with more of them does not identify a payment: CASH, for example. Its rows and payments are not compared across
 * loans. This bounds the memory of a comparison.
 */
const MOST_UNPAIRED = 1_000;

/**
 * Compares the rows of a lender with booked payments. Both come as one stream, ordered by reference, then by loan.
 * Within one reference and loan, the rows come first, in the order of their positions, and then the payments. The
 * comparison stores only the unpaired items of the current reference.
 *
 * The rules; the first rule that applies decides:
 * 1. A row is `rejected` if an earlier row has the same loan and reference.
 * 2. A row and a payment with the same loan and reference belong together. If a part of the payment was reversed and the
 *    row has another amount than the rest, they are `reversed`; with any other difference in amount or currency,
 *    `amountDiffers`; if the payment or the row is outside the window, `otherDay`; else they match.
 * 3. A payment that was reversed in full and has no row is ignored.
 * 4. An unpaired row and an unpaired payment with the same reference are `onOtherLoan`: first the pairs with the same
 *    amount, and then the last row and the last payment if one of each is left. `pairElsewhere` adds payments of other
 *    days.
 * 5. An unpaired row is `onlyYours`. An unpaired payment of the window is `onlyOurs`, and other payments are ignored.
 *
 * @example
 * const day = { from: new Date("2026-11-20T18:30:00Z"), to: new Date("2026-11-21T18:30:00Z") };
 * const comparison = new Comparison(day);
 * const differences = items.flatMap((item) => comparison.add(item));
 * differences.push(...comparison.end());
 * console.log(comparison.totals().matched);
 */
export class Comparison {
  readonly #window: ReconciliationWindow;
  readonly #yours = new Totals();
  readonly #ours = new Totals();
  #matched = 0;
  #found: FoundDifference[] = [];
  /** The row of the current reference and loan that has no payment yet. */
  #row: ReportedPayment | undefined;
  #key: { readonly reference: string; readonly loan: string; readonly firstPosition: number | undefined } | undefined;
  #unpairedRows: ReportedPayment[] = [];
  #unpairedPayments: BookedPayment[] = [];
  #isCommon = false;

  constructor(window: ReconciliationWindow) {
    this.#window = window;
  }

  /** Takes the next item of the stream. Returns the differences that no later item can change. */
  add(item: ComparedItem): FoundDifference[] {
    if ("row" in item) this.#addRow(item.row);
    else this.#addPayment(item.payment);
    return this.#drain();
  }

  /** Returns the differences of the last reference. Call it once, after the last item. */
  end(): FoundDifference[] {
    this.#endLoan();
    this.#endReference();
    return this.#drain();
  }

  /** Returns the matches, and the counts and sums of everything that was added. */
  totals(): ComparisonTotals {
    return { matched: this.#matched, yours: this.#yours.byCurrency(), ours: this.#ours.byCurrency() };
  }

  #addRow(row: ReportedPayment): void {
    const isRepeated = this.#moveTo(row);
    if (isRepeated && this.#key?.firstPosition !== undefined) {
      this.#found.push({ list: "rejected", row, payment: null, duplicateOf: this.#key.firstPosition });
      return;
    }
    this.#key = { reference: row.reference, loan: row.loan, firstPosition: row.position };
    this.#yours.add(row.currency, row.amountMinor);
    this.#row = row;
  }

  #addPayment(payment: BookedPayment): void {
    this.#moveTo(payment);
    const netMinor = payment.amountMinor - payment.reversedMinor;
    if (netMinor > 0n && isIn(this.#window, payment.paidAt)) this.#ours.add(payment.currency, netMinor);
    if (this.#row) {
      this.#compare(this.#row, payment);
      this.#row = undefined;
    } else if (netMinor > 0n) {
      this.#keepUnpaired(this.#unpairedPayments, payment);
    }
  }

  /**
   * Call it with the key of each item. Ends the previous loan, and the previous reference, if the item has another one.
   * Returns true if the item has the same loan and reference as the previous item.
   */
  #moveTo({ reference, loan }: { readonly reference: string; readonly loan: string }): boolean {
    const isSameReference = this.#key?.reference === reference;
    if (isSameReference && this.#key?.loan === loan) return true;
    this.#endLoan();
    if (!isSameReference) this.#endReference();
    this.#key = { reference, loan, firstPosition: undefined };
    return false;
  }

  #endLoan(): void {
    if (this.#row) this.#keepUnpaired(this.#unpairedRows, this.#row);
    this.#row = undefined;
  }

  #endReference(): void {
    if (!this.#isCommon) this.#pairAcrossLoans();
    this.#reportUnpaired();
    this.#isCommon = false;
  }

  #keepUnpaired<Item>(items: Item[], item: Item): void {
    items.push(item);
    if (items.length > MOST_UNPAIRED) this.#isCommon = true;
    if (this.#isCommon) this.#reportUnpaired();
  }

  #reportUnpaired(): void {
    for (const row of this.#unpairedRows.splice(0)) this.#found.push({ list: "onlyYours", row, payment: null });
    for (const payment of this.#unpairedPayments.splice(0)) {
      if (isIn(this.#window, payment.paidAt)) this.#found.push({ list: "onlyOurs", row: null, payment });
    }
  }

  #pairAcrossLoans(): void {
    const byAmount = Map.groupBy(this.#unpairedPayments, amountKeyOf);
    for (const row of this.#unpairedRows) {
      const payment = byAmount.get(amountKeyOf({ ...row, reversedMinor: 0n }))?.shift();
      if (payment) this.#pair(row, payment);
    }
    const [[row, anotherRow], [payment, anotherPayment]] = [this.#unpairedRows, this.#unpairedPayments];
    if (row && payment && !anotherRow && !anotherPayment) this.#pair(row, payment);
  }

  #pair(row: ReportedPayment, payment: BookedPayment): void {
    this.#found.push({ list: "onOtherLoan", row, payment });
    this.#unpairedRows = this.#unpairedRows.filter((one) => one !== row);
    this.#unpairedPayments = this.#unpairedPayments.filter((one) => one !== payment);
  }

  #compare(row: ReportedPayment, payment: BookedPayment): void {
    const list = listOf(row, payment, this.#window);
    if (list) this.#found.push({ list, row, payment });
    else this.#matched += 1;
  }

  #drain(): FoundDifference[] {
    if (this.#found.length === 0) return [];
    return this.#found.splice(0);
  }
}

/** Returns the list of a row and a payment with the same loan and reference; undefined if they match. */
function listOf(
  row: ReportedPayment,
  payment: BookedPayment,
  window: ReconciliationWindow,
): DifferenceList | undefined {
  const isSameAmount =
    row.currency === payment.currency && row.amountMinor === payment.amountMinor - payment.reversedMinor;
  if (!isSameAmount) return payment.reversedMinor > 0n ? "reversed" : "amountDiffers";
  const isInWindow = isIn(window, payment.paidAt) && (row.paidAt === null || isIn(window, row.paidAt));
  return isInWindow ? undefined : "otherDay";
}

function isIn({ from, to }: ReconciliationWindow, at: Date): boolean {
  return from <= at && at < to;
}

/**
 * Pairs rows that have no payment with payments on other loans that were paid on other days: a row and a payment with the
 * same reference and amount. Such a row becomes `onOtherLoan`. Otherwise the lender would confirm the payment twice. A
 * payment with another amount does not pair: it may be another part of a payment that was divided among loans. `missing`
 * has differences of the list `onlyYours`, and `elsewhere` the payments on other loans with the references of their rows.
 *
 * @example
 * const missing = comparison.end().filter(({ list }) => list === "onlyYours");
 * const references = missing.map(({ row }) => row!.reference);
 * const elsewhere = await paymentsElsewhere(tx, { lenderId, runId }, window, references);
 * const differences = pairElsewhere(missing, elsewhere);
 */
export function pairElsewhere(
  missing: readonly FoundDifference[],
  elsewhere: readonly BookedPayment[],
): FoundDifference[] {
  const unpaired = Map.groupBy(elsewhere, (payment) => `${payment.reference} ${amountKeyOf(payment)}`);
  return missing.map((difference) => {
    const row = difference.row!;
    const payment = unpaired.get(`${row.reference} ${amountKeyOf({ ...row, reversedMinor: 0n })}`)?.shift();
    return payment ? { list: "onOtherLoan", row, payment } : difference;
  });
}

function amountKeyOf({
  currency,
  amountMinor,
  reversedMinor,
}: Pick<BookedPayment, "currency" | "amountMinor" | "reversedMinor">): string {
  return `${currency} ${amountMinor - reversedMinor}`;
}

/** Counts and sums of payments, by currency. */
class Totals {
  readonly #byCurrency = new Map<CurrencyCode, { count: number; amountMinor: bigint }>();

  add(currency: CurrencyCode, amountMinor: bigint): void {
    const total = this.#byCurrency.get(currency);
    if (total === undefined) this.#byCurrency.set(currency, { count: 1, amountMinor });
    else {
      total.count += 1;
      total.amountMinor += amountMinor;
    }
  }

  byCurrency(): CurrencyTotal[] {
    return [...this.#byCurrency]
      .map(([currency, total]) => ({ currency, ...total }))
      .toSorted((one, other) => (one.currency < other.currency ? -1 : 1));
  }
}
