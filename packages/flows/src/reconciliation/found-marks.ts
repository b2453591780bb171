import { type FoundDifference, markFound, type RunKey } from "@collections/bookings";
import type { Tx } from "@collections/entities";
import type { FaultyPaymentRow } from "./payment-row.ts";

/** Marks what a run finds, so that the differences of the previous run that it does not find are gone. */
export class FoundMarks {
  readonly #tx: Tx;
  readonly #key: RunKey;
  readonly #isNeeded: boolean;
  #place = 0;

  constructor(tx: Tx, key: RunKey, isNeeded: boolean) {
    this.#tx = tx;
    this.#key = key;
    this.#isNeeded = isNeeded;
  }

  add(differences: readonly FoundDifference[]): void {
    if (!this.#isNeeded) return;
    // The first row of a repeated payment counts.
    const counted = differences.filter(({ duplicateOf }) => duplicateOf === undefined);
    this.#mark(counted.map(({ row, payment }) => (row ?? payment)!));
  }

  addRejected(rows: readonly FaultyPaymentRow[]): void {
    if (!this.#isNeeded) return;
    this.#mark(
      rows.flatMap(({ loan, reference }) => (loan === null || reference === null ? [] : [{ loan, reference }])),
    );
  }

  #mark(rows: readonly { readonly loan: string; readonly reference: string }[]): void {
    markFound(
      this.#tx,
      this.#key,
      rows.map(({ loan, reference }) => ({ loan, reference, position: this.#place++ })),
    );
  }
}
