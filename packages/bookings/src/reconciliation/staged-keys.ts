import type { BookedPayment, ReportedPayment } from "./comparison.ts";

/** The maximum number of rows whose loans and references are known. */
const MOST_ROWS = 10_000;

/**
 * The loans and references of the rows that match no booking by themselves. Only payments with one of them have to be compared
 * with rows. Beyond 10,000 rows they are forgotten, and every payment counts as one that has to be compared.
 *
 * @example
 * const staged = new StagedKeys();
 * staged.add(rows);
 * const alone = booked.filter((payment) => !staged.mayBeCompared(payment));
 */
export class StagedKeys {
  readonly #loans = new Set<string>();
  readonly #references = new Set<string>();
  #rows = 0;

  /** The number of rows that were added. */
  get rows(): number {
    return this.#rows;
  }

  /** Whether the loans and references of all rows are known. */
  get isComplete(): boolean {
    return this.#rows <= MOST_ROWS;
  }

  add(rows: readonly ReportedPayment[]): void {
    this.#rows += rows.length;
    if (!this.isComplete) {
      this.#loans.clear();
      this.#references.clear();
      return;
    }
    for (const { loan, reference } of rows) {
      this.#loans.add(loan);
      this.#references.add(reference);
    }
  }

  /** Tells whether a payment may belong to one of the rows. */
  mayBeCompared({ loan, reference }: BookedPayment): boolean {
    return !this.isComplete || this.#loans.has(loan) || this.#references.has(reference);
  }
}
