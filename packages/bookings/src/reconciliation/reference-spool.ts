import type { Tx } from "@collections/entities";
import type { BookedPayment, ComparedItem, ReportedPayment } from "./comparison.ts";
import { type RunKey, stageBooked, stagedItems, stageRows } from "./reconciliation-row.ts";

/** The number of items that are kept in memory. If there are more, all are staged in the database. */
const MOST_IN_MEMORY = 10_000;

/**
 * The rows and payments that the comparison of each loan has left, in the order of their references: in memory or, if they
 * are many, in the database. The run's staged items must have been read to their end before.
 *
 * @example
 * const left = new ReferenceSpool(tx, { lenderId, runId });
 * left.add(rows, []);
 * for await (const items of left.byReference()) console.log(items.length);
 */
export class ReferenceSpool {
  readonly #tx: Tx;
  readonly #run: RunKey;
  #held: ComparedItem[] | undefined = [];

  constructor(tx: Tx, run: RunKey) {
    this.#tx = tx;
    this.#run = run;
  }

  add(rows: readonly ReportedPayment[], payments: readonly BookedPayment[]): void {
    if (this.#held && this.#held.length + rows.length + payments.length <= MOST_IN_MEMORY) {
      this.#held.push(...rows.map((row) => ({ row })), ...payments.map((payment) => ({ payment })));
      return;
    }
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#stage(
      held.flatMap((item) => ("row" in item ? [item.row] : [])),
      held.flatMap((item) => ("payment" in item ? [item.payment] : [])),
    );
    this.#stage(rows, payments);
  }

  /** Yields all items in pages. Items with the same reference are next to each other. */
  async *byReference(): AsyncGenerator<readonly ComparedItem[]> {
    if (this.#held) yield this.#held.toSorted(byReferenceAndLoan);
    else yield* stagedItems(this.#tx, this.#run);
  }

  #stage(rows: readonly ReportedPayment[], payments: readonly BookedPayment[]): void {
    stageRows(this.#tx, this.#run, rows);
    stageBooked(this.#tx, this.#run, payments);
  }
}

function byReferenceAndLoan(one: ComparedItem, other: ComparedItem): number {
  const [a, b] = [keyOf(one), keyOf(other)];
  if (a.reference !== b.reference) return a.reference < b.reference ? -1 : 1;
  return a.loan < b.loan ? -1 : a.loan > b.loan ? 1 : 0;
}

function keyOf(item: ComparedItem): { readonly reference: string; readonly loan: string } {
  return "row" in item ? item.row : item.payment;
}
