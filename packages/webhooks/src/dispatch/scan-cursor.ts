import { isSmall } from "./quiet-lanes.ts";

/**
 * Tracks how far a lane has read the loans of its endpoint. A scan reads the loans in order, in several leases: each
 * lease begins after the last loan of the previous lease. The next lease is due after a hint that deliveries may be
 * due, and while the scan has not reached the last loan.
 */
export class ScanCursor {
  /** The next lease begins after this loan. "" is before the first loan: no scan is under way. */
  #afterLoan = "";
  /** Whether there may be due deliveries that no lease has read. */
  #isHinted = false;
  /** Whether a hint came during this scan: it may be about loans that the scan has already passed. */
  #isRepeatedAtEnd = false;
  #isSmall = true;
  #signals = 0;

  /** Whether there may be something to lease. */
  get isDue(): boolean {
    return this.#isHinted || this.#afterLoan !== "";
  }

  /** Whether the last lease reached the last loan and returned few deliveries. */
  get isSmall(): boolean {
    return this.#isSmall;
  }

  /** The number of signals so far. If the number has changed, the rows may have changed too. */
  get signals(): number {
    return this.#signals;
  }

  /** Notes a signal or a poll: deliveries may be due. */
  signal(): void {
    this.#signals += 1;
    this.#isHinted = true;
  }

  /** Requests a scan because of a change that this process made itself. */
  hint(): void {
    this.#isHinted = true;
  }

  /** Begins the next lease. Returns the loan after which the lease begins to read. */
  begin(): string {
    this.#isRepeatedAtEnd ||= this.#isHinted && this.#afterLoan !== "";
    this.#isHinted = false;
    return this.#afterLoan;
  }

  /** Notes the result of a lease. `scannedUpTo` is the last loan that it read, or null if it read all of them. */
  advance(scannedUpTo: string | null, leased: number): void {
    this.#isSmall = scannedUpTo === null && isSmall(leased);
    this.#afterLoan = scannedUpTo ?? "";
    if (scannedUpTo === null && this.#isRepeatedAtEnd) {
      this.#isHinted = true;
      this.#isRepeatedAtEnd = false;
    }
  }

  /** Notes a lease that failed. The next hint begins a new scan. */
  reset(): void {
    this.#afterLoan = "";
    this.#isRepeatedAtEnd = false;
    this.#isSmall = false;
  }
}
