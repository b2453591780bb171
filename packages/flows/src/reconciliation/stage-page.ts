import {
  findCounterparts,
  type ReconciliationWindow,
  type ReportedPayment,
  type RunKey,
  stageBooked,
  type StagedKeys,
  stageRows,
  storeMatches,
} from "@collections/bookings";
import { hasSeveralForms, statesOfLoans, storedLoanNumbers } from "@collections/cases";
import type { Tx } from "@collections/entities";
import { type CurrencyCode, readAmount } from "@collections/money";
import { bookedReference, possibleReferences } from "../payment/reference.ts";
import type { KnownSequences } from "./known-sequences.ts";
import type { CheckedPaymentRow, FaultyPaymentRow, PaymentRow } from "./payment-row.ts";

/** The lender and the window of the rows. */
export interface StagingRules {
  readonly lender: { readonly id: string; readonly currency: CurrencyCode };
  readonly window: ReconciliationWindow;
  readonly staged: StagedKeys;
  /** Whether the lender has payments with parts. */
  readonly hasParts: boolean;
  /** Gets the sequences of loans with rows that match no booking by themselves. */
  readonly known: KnownSequences | undefined;
}

/** The rows of a page that are not staged for the comparison. */
export interface StagedPage {
  /** Rows that match a booking by themselves. */
  readonly matched: readonly ReportedPayment[];
  /** Rows that cannot be compared, in the order of their positions. */
  readonly faulty: readonly FaultyPaymentRow[];
}

/** A row in minor units, and the reference as it was sent. */
interface ReadRow {
  readonly row: ReportedPayment;
  readonly sentReference: string;
}

/**
 * Stores a page of rows. A row that matches a booking by itself is stored as a match of this booking. The other valid rows are
 * staged for the comparison, with their bookings from outside the window.
 */
export async function stagePage(
  tx: Tx,
  key: RunKey,
  page: readonly CheckedPaymentRow[],
  { lender, window, staged, hasParts, known }: StagingRules,
): Promise<StagedPage> {
  const readable = await withStoredLoans(
    tx,
    lender.id,
    page.flatMap((checked) => ("row" in checked ? [checked] : [])),
  );
  const faulty = page.flatMap((checked) => ("row" in checked ? [] : [checked]));
  const loans = new Set(readable.map(({ row }) => row.loan));
  // Read before the bookings: the run then knows every booking up to these sequences.
  const states = await statesOfLoans(tx, lender.id, [...loans]);
  const read: ReadRow[] = [];
  for (const { position, row } of readable) {
    const reading = readRow(position, row, { currency: states.get(row.loan)?.currency, otherwise: lender.currency });
    if ("faults" in reading) faulty.push(reading);
    else read.push(reading);
  }
  const candidates = read.flatMap(({ row, sentReference }) => {
    const forms = possibleReferences(sentReference);
    // A booking with another form of the reference might belong to the row, too.
    const mayMatch = forms.length === 1 && row.isLoanKnown && isInside(row, window);
    return forms.map((reference) => ({ row, reference, mayMatch }));
  });
  const { matches, distant } = await findCounterparts(tx, key, window, candidates, { hasParts });
  const stored = await storeMatches(tx, key, matches);
  const rest = read.flatMap(({ row }) => (stored.has(row.position) ? [] : [row]));
  stageRows(tx, key, rest);
  stageBooked(tx, key, distant);
  staged.add(rest);
  for (const { loan } of rest) known?.add(loan, states.get(loan)?.sequence ?? 0n);
  return {
    matched: read.flatMap(({ row }) => (stored.has(row.position) ? [row] : [])),
    faulty: faulty.toSorted((one, other) => one.position - other.position),
  };
}

interface ReadableRow {
  readonly position: number;
  readonly row: PaymentRow;
}

/** Replaces loan numbers that are stored in another Unicode normal form. Most numbers have one form, and need no query. */
async function withStoredLoans(tx: Tx, lenderId: string, rows: readonly ReadableRow[]): Promise<ReadableRow[]> {
  const sent = rows.flatMap(({ row }) => (hasSeveralForms(row.loan) ? [row.loan] : []));
  if (sent.length === 0) return [...rows];
  const stored = await storedLoanNumbers(tx, lenderId, sent);
  return rows.map(({ position, row }) => ({ position, row: { ...row, loan: stored.get(row.loan) ?? row.loan } }));
}

function readRow(
  position: number,
  { loan, reference: sentReference, amount, paidAt, mode }: PaymentRow,
  { currency: known, otherwise }: { readonly currency: CurrencyCode | undefined; readonly otherwise: CurrencyCode },
): ReadRow | FaultyPaymentRow {
  const currency = known ?? otherwise;
  const reading = readAmount(amount, currency);
  const reference = bookedReference(sentReference);
  if ("minor" in reading) {
    const isLoanKnown = known !== undefined;
    const row = { position, loan, reference, amountMinor: reading.minor, currency, paidAt, mode, isLoanKnown };
    return { row, sentReference };
  }
  const fault = { code: reading.fault, pointer: `/rows/${position}/amount`, detail: reading.detail };
  return { position, loan, reference, faults: [fault] };
}

function isInside({ paidAt }: ReportedPayment, { from, to }: ReconciliationWindow): boolean {
  return paidAt === null || (from <= paidAt && paidAt < to);
}
