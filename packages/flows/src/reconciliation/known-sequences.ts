/** The maximum number of loans that are kept. It bounds the memory. */
const MOST_LOANS = 100_000;

/**
 * The sequence of each loan before a run read the loan's bookings. A booking with a greater sequence may be unknown to the run.
 * Only loans with a row that matched no booking at once are kept, and at most 100,000; every other loan counts as 0, so that
 * each of its bookings may be unknown.
 *
 * @example
 * const known = new KnownSequences();
 * const asked = { lender, runId, requestedBy: "operator", fileName: "day.csv", mostPerList: 500, known };
 * await reconcile(em, { ...asked, window: { from, to }, rows: [[checked]] });
 */
export class KnownSequences {
  readonly #byLoan = new Map<string, bigint>();

  /** Keeps the first sequence of a loan. */
  add(loan: string, sequence: bigint): void {
    if (this.#byLoan.size < MOST_LOANS && !this.#byLoan.has(loan)) this.#byLoan.set(loan, sequence);
  }

  /** Returns the sequence of a loan, or 0. */
  of(loan: string): bigint {
    return this.#byLoan.get(loan) ?? 0n;
  }
}
