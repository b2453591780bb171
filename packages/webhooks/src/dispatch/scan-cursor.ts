import { isSmall } from "./quiet-lanes.ts";

/**
 * How far a lane has read the loans of its endpoint. One scan goes through the loans in order, one lease after the other:
 * each lease begins after the last loan of the lease before. A scan is due after a hint, and as long as it has not
 * reached the last loan.
 */
export class ScanCursor {
  /** The next lease begins after this loan. "" is before the first loan: no scan is under way. */
  #afterLoan = "";
  /** Whether deliveries may be due that no lease has seen. */
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

  /** How many signals have come. If the number has changed, the rows may have changed too. */
  get signals(): number {
    return this.#signals;
  }

  /** Notes a signal or a poll: deliveries may be due. */
  signal(): void {
    this.#signals += 1;
    this.#isHinted = true;
  }

  /** Asks for a scan because of something that this process did itself. */
  hint(): void {
    this.#isHinted = true;
  }

  /** Begins the next lease. Returns the loan after which it has to look. */
  begin(): string {
    this.#isRepeatedAtEnd ||= this.#isHinted && this.#afterLoan !== "";
    this.#isHinted = false;
    return this.#afterLoan;
  }

  /** Notes what a lease has returned. `scannedUpTo` is the last loan that it read, or null if it read all of them. */
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
