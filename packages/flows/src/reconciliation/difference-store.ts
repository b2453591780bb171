import {
  DIFFERENCE_LISTS,
  type DifferenceList,
  type FoundDifference,
  type ReconciliationDifference,
  type ReconciliationFault,
  recordDifferences,
  RunDigest,
  type RunKey,
  type RunTotals,
} from "@collections/bookings";
import type { Tx } from "@collections/entities";
import type { FaultyPaymentRow } from "./payment-row.ts";

/** The result of storing the differences of a run. */
interface StoredDifferences {
  readonly totals: Pick<RunTotals, "lists" | "isComplete">;
  readonly stored: number;
  readonly digest: Buffer;
}

/** Counts and numbers the differences of a run, and stores the first ones of each list. */
export class DifferenceStore {
  readonly #tx: Tx;
  readonly #key: RunKey;
  readonly #mostPerList: number;
  readonly #noun: string;
  readonly #lists = Object.fromEntries(DIFFERENCE_LISTS.map((list) => [list, 0])) as Record<DifferenceList, number>;
  #place = 0;
  readonly #digest: RunDigest;

  constructor(
    tx: Tx,
    key: RunKey,
    { mostPerList, isFile }: { readonly mostPerList: number; readonly isFile: boolean },
  ) {
    this.#tx = tx;
    this.#key = key;
    this.#mostPerList = mostPerList;
    this.#noun = isFile ? "Line" : "Row";
    this.#digest = new RunDigest(key);
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
    this.#store(found.map((one) => this.#differenceOf(one)));
  }

  /** Returns the number of differences of each list, whether all are stored, and their digest. Call it once, at the end. */
  end(): StoredDifferences {
    const isComplete = Object.values(this.#lists).every((count) => count <= this.#mostPerList);
    return { totals: { lists: { ...this.#lists }, isComplete }, stored: this.#place, digest: this.#digest.end() };
  }

  #store(differences: readonly ReconciliationDifference[]): void {
    const kept = differences.filter(({ list }) => (this.#lists[list] += 1) <= this.#mostPerList);
    const numbered = kept.map((difference) => ({ ...difference, place: this.#place++ }));
    recordDifferences(this.#tx, this.#key, numbered);
    this.#digest.add(numbered);
  }

  #differenceOf(found: FoundDifference): ReconciliationDifference {
    const { list, row, payment } = found;
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
      bookedReference: payment?.reference ?? null,
      bookedMinor: payment?.amountMinor ?? null,
      reversedMinor: payment?.reversedMinor ?? null,
      bookedCurrency: payment?.currency ?? null,
      bookedPaidAt: payment?.paidAt ?? null,
      faults: this.#faultsOf(found),
    };
  }

  #faultsOf({ row, duplicateOf, conflicting, isOverLimit }: FoundDifference): ReconciliationFault[] {
    const fault = (code: string, field: string, detail: string) => [
      { code, pointer: `/rows/${row?.position}/${field}`, detail },
    ];
    if (duplicateOf !== undefined) {
      const detail = `${this.#noun} ${duplicateOf} has the same loan and reference; send each payment once.`;
      return fault("DUPLICATE_IN_REQUEST", "reference", detail);
    }
    if (conflicting) {
      const detail =
        `${this.#noun}s ${conflicting.join(", ")} have the same loan and reference, and different amounts. If they are parts ` +
        "of one payment, send one row with their sum. If they are payments of their own, give each its own reference.";
      return fault("PARTS_NOT_CLEAR", "amount", detail);
    }
    if (isOverLimit) {
      const detail = "The loan has more than 20,000 rows and payments without a counterpart; send fewer rows for it.";
      return fault("TOO_MANY_ON_LOAN", "loan", detail);
    }
    return [];
  }
}
