import {
  type BookedPayment,
  type LoanPayment,
  pairOnLoan,
  type PairingRules,
  paymentsSince,
  type ReconciliationDifference,
  referencesOfRows,
  type ReportedPayment,
  type RunKey,
} from "@collections/bookings";
import type { LockedCase } from "@collections/cases";
import type { Tx } from "@collections/entities";
import type { KnownSequences } from "./known-sequences.ts";

/** What a run knows, and how it pairs rows with payments of another reference. */
export interface SinceRun {
  readonly run: RunKey;
  readonly known: KnownSequences;
  readonly pairing: PairingRules;
}

/**
 * Returns payments that were booked after the comparison, and that a row would be `referenceDiffers` with, by the position of the
 * row. `lockedCases` are the locked cases of the rows' loans. A booking with the reference of a row belongs to this row alone.
 */
export async function bookedSince(
  tx: Tx,
  lockedCases: readonly LockedCase[],
  missing: readonly ReconciliationDifference[],
  { run, known, pairing }: SinceRun,
): Promise<ReadonlyMap<number, BookedPayment>> {
  const changed = lockedCases.filter(({ sourceLoanNumber, sequence }) => sequence > known.of(sourceLoanNumber));
  const since = changed.map(({ sourceLoanNumber: loan }) => ({ loan, sequence: known.of(loan) }));
  const booked = await paymentsSince(tx, run.lenderId, since);
  const isBooked = new Set(booked.map(keyOf));
  const rows = missing.map(rowOf).filter((row) => !isBooked.has(keyOf(row)));
  const free = booked.filter(({ amountMinor, reversedMinor }) => amountMinor > reversedMinor);
  const suspected = pairsOf(rows, free, pairing);
  if (suspected.length === 0) return new Map();
  // Only now, because it reads the whole run.
  const loans = new Set(suspected.map(({ payment }) => payment.loan));
  const onLoans = free.filter(({ loan }) => loans.has(loan));
  const ofRows = new Set((await referencesOfRows(tx, run, onLoans)).map(keyOf));
  const ofNoRow = onLoans.filter((payment) => !ofRows.has(keyOf(payment)));
  return new Map(pairsOf(rows, ofNoRow, pairing).map(({ row, payment }) => [row.position, payment]));
}

function pairsOf(rows: readonly ReportedPayment[], payments: readonly LoanPayment[], pairing: PairingRules) {
  const rowsOfLoan = Map.groupBy(rows, ({ loan }) => loan);
  return [...Map.groupBy(payments, ({ loan }) => loan)].flatMap(([loan, ofLoan]) => {
    const { differences } = pairOnLoan({ rows: rowsOfLoan.get(loan) ?? [], pairs: [], payments: ofLoan }, pairing);
    return differences.flatMap(({ list, row, payment }) =>
      list === "referenceDiffers" && row && payment ? [{ row, payment }] : [],
    );
  });
}

function rowOf({
  position,
  loan,
  reference,
  rowMinor,
  rowCurrency,
  rowPaidAt,
  rowMode,
  isLoanKnown,
}: ReconciliationDifference): ReportedPayment {
  return {
    position: position!,
    loan: loan!,
    reference: reference!,
    amountMinor: rowMinor!,
    currency: rowCurrency!,
    paidAt: rowPaidAt,
    mode: rowMode,
    isLoanKnown,
  };
}

function keyOf({ loan, reference }: { readonly loan: string; readonly reference: string }): string {
  return `${loan}\n${reference}`;
}
