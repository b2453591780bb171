import {
  type BookedPayment,
  type Comparison,
  type ComparisonTotals,
  type FoundDifference,
  isIn,
  LeftoverSpool,
  type LeftoversOfLoan,
  type LoanResult,
  pairAcrossLoans,
  pairOnLoan,
  type PairingRules,
  paymentsElsewhere,
  paymentsWithParts,
  type ReconciliationWindow,
  ReferenceSpool,
  type ReportedPayment,
  type RunKey,
  stagedItems,
} from "@collections/bookings";
import type { Tx } from "@collections/entities";
import { dayIn } from "@collections/local-time";

/** How to compare the staged items of a run. */
export interface ComparingRules {
  readonly window: ReconciliationWindow;
  readonly timeZone: string;
  /** Whether the lender has payments with parts. */
  readonly isDivided: boolean;
  /** Is called with differences, which no later item changes. The comparison goes on when it has ended. */
  readonly onFound: (differences: readonly FoundDifference[]) => Promise<void>;
  /** Is called with the number of items that were compared. */
  readonly onCompared: (items: number) => void;
}

/** The number of rows whose references are looked up by one query. */
const ROWS_A_PAGE = 20_000;
/** The maximum number of rows and payments of one reference that are compared with each other. It bounds the memory. */
const MOST_OF_A_REFERENCE = 2_000;

/**
 * Compares the rows and payments that a run has staged, in three steps: by loan and reference, by loan, and by reference
 * (decision 56). What a step leaves over is staged again, in the order of the next step.
 */
export async function compareStaged(
  tx: Tx,
  key: RunKey,
  comparison: Comparison,
  rules: ComparingRules,
): Promise<ComparisonTotals> {
  const leftovers = new LeftoverSpool(tx, key);
  const left = new ReferenceSpool(tx, key);
  await compareExactly(tx, key, { comparison, leftovers }, rules);
  await compareByLoan({ comparison, leftovers, left }, rules);
  await compareByReference(tx, key, left, rules);
  return comparison.totals();
}

interface Steps {
  readonly comparison: Comparison;
  /** The input of the second step. */
  readonly leftovers: LeftoverSpool;
  /** The input of the third step. */
  readonly left: ReferenceSpool;
}

async function compareExactly(
  tx: Tx,
  key: RunKey,
  { comparison, leftovers }: Omit<Steps, "left">,
  { isDivided, onFound, onCompared }: ComparingRules,
): Promise<void> {
  const take = async () => {
    const taken = comparison.take();
    await onFound(taken.differences);
    leftovers.add(taken.leftovers);
  };
  for await (const items of stagedItems(tx, key)) {
    onCompared(items.length);
    const payments = isDivided ? items.flatMap((item) => ("payment" in item ? [item.payment] : [])) : [];
    const divided = await paymentsWithParts(tx, key.lenderId, payments);
    for (const item of items) {
      const isWhole = "payment" in item && divided.has(item.payment.bookingId);
      comparison.add(isWhole ? { ...item, hasParts: true } : item);
    }
    await take();
  }
  comparison.end();
  await take();
}

async function compareByLoan(
  { comparison, leftovers, left }: Steps,
  { window, timeZone, onFound }: ComparingRules,
): Promise<void> {
  const rules: PairingRules = { window, dayOf: (at) => dayIn(timeZone, at) };
  for await (const loans of leftovers.byLoan(window)) {
    const results = loans.map((loan) => (loan.isOverLimit ? overLimit(loan) : pairOnLoan(loan, rules)));
    await onFound(results.flatMap(({ differences }) => differences));
    for (const { matched, ours } of results) comparison.correct(matched, ours);
    left.add(
      results.flatMap(({ rows }) => rows),
      results.flatMap(({ payments }) => payments),
    );
  }
}

/** A loan with more leftovers than are compared at once: its rows are rejected, so none of them is booked by mistake. */
function overLimit({ rows, pairs, payments }: LeftoversOfLoan): LoanResult {
  const all = [...rows, ...pairs.map(({ row }) => row)];
  return {
    differences: all.map((row) => ({ list: "rejected", row, payment: null, isOverLimit: true })),
    matched: 0,
    rows: [],
    payments: [...payments, ...pairs.map(({ payment }) => payment)],
    ours: [],
  };
}

/** The rows and payments with one reference, or a piece of them. */
interface ReferenceGroup {
  readonly reference: string;
  readonly rows: ReportedPayment[];
  readonly payments: BookedPayment[];
}

async function compareByReference(
  tx: Tx,
  key: RunKey,
  left: ReferenceSpool,
  { window, onFound }: ComparingRules,
): Promise<void> {
  const groups: ReferenceGroup[] = [];
  let size = 0;
  const flush = async () => {
    const complete = groups.splice(0);
    size = 0;
    const references = complete.flatMap(({ reference, rows }) => (rows.length > 0 ? [reference] : []));
    const found = await paymentsElsewhere(tx, key, [...new Set(references)]);
    const elsewhere = Map.groupBy(found, ({ reference }) => reference);
    const differences = complete.flatMap(({ reference, rows, payments }) => {
      const result = pairAcrossLoans({ rows, payments, elsewhere: elsewhere.get(reference) ?? [] });
      const inWindow = result.payments.filter(({ paidAt }) => isIn(window, paidAt));
      return [
        ...result.differences,
        ...inWindow.map((payment): FoundDifference => ({ list: "onlyOurs", row: null, payment })),
      ];
    });
    await onFound(differences);
  };
  for await (const items of left.byReference()) {
    for (const item of items) {
      const { reference } = "row" in item ? item.row : item.payment;
      let group = groups.at(-1);
      const isFull = group !== undefined && group.rows.length + group.payments.length >= MOST_OF_A_REFERENCE;
      if (group?.reference !== reference || isFull) {
        if (size >= ROWS_A_PAGE) await flush();
        group = { reference, rows: [], payments: [] };
        groups.push(group);
      }
      if ("row" in item) group.rows.push(item.row);
      else group.payments.push(item.payment);
      size += 1;
    }
  }
  await flush();
}
