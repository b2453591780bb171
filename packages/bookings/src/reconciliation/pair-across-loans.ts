import type { BookedPayment, FoundDifference, ReportedPayment } from "./comparison.ts";
import { netOf } from "./comparison.ts";

/** The rows and payments with one reference that are left after each loan was compared. */
export interface ReferenceLeftovers {
  readonly rows: readonly ReportedPayment[];
  /** Payments without a row, in the window or at most a day outside of it. */
  readonly payments: readonly BookedPayment[];
  /** Other bookings with this reference on any loan, not reversed in full. They may belong to rows of their loans. */
  readonly elsewhere: readonly BookedPayment[];
}

/** The result of comparing a reference across loans. */
export interface ReferenceResult {
  readonly differences: readonly FoundDifference[];
  /** The payments that belong to no row. */
  readonly payments: readonly BookedPayment[];
}

/**
 * The last step of a comparison: a row whose reference is booked on another loan is `onOtherLoan`, and every other row is
 * `onlyYours`. The row shows a payment of the same amount if there is one: first one without a row, then one elsewhere.
 * Otherwise it shows any payment without a row, or else any payment elsewhere.
 *
 * @example
 * const { differences } = pairAcrossLoans({ rows, payments: [], elsewhere: [] });
 * console.log(differences.map(({ list }) => list));
 */
export function pairAcrossLoans({ rows, payments, elsewhere }: ReferenceLeftovers): ReferenceResult {
  const free = new Set(payments);
  const shown = new Map<ReportedPayment, BookedPayment>();
  const others = (row: ReportedPayment) => elsewhere.filter(({ loan }) => loan !== row.loan);
  const takeFree = (row: ReportedPayment, isMeant: (payment: BookedPayment) => boolean) => {
    const payment = [...free].find((one) => one.loan !== row.loan && isMeant(one));
    if (payment) free.delete(payment);
    return payment;
  };
  const steps: ((row: ReportedPayment) => BookedPayment | undefined)[] = [
    (row) => takeFree(row, (payment) => isSameAmount(row, payment)),
    (row) => others(row).find((payment) => isSameAmount(row, payment)),
    (row) => takeFree(row, () => true),
    (row) => others(row)[0] ?? payments.find(({ loan }) => loan !== row.loan),
  ];
  for (const step of steps) {
    for (const row of rows) {
      const payment = shown.has(row) ? undefined : step(row);
      if (payment) shown.set(row, payment);
    }
  }
  const differences = rows.map((row): FoundDifference => {
    const payment = shown.get(row);
    return payment ? { list: "onOtherLoan", row, payment } : { list: "onlyYours", row, payment: null };
  });
  return { differences, payments: [...free] };
}

function isSameAmount(row: ReportedPayment, payment: BookedPayment): boolean {
  return row.currency === payment.currency && row.amountMinor === netOf(payment);
}
