import { query, statement } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import { excessAccount, receivableAccount } from "./account.ts";
import { newestOf, type Posting, type Transfer } from "./transfer.ts";

/** Excess of a payment that a balance has applied: the debt was larger than known when the payment was booked. */
export interface AppliedExcess {
  readonly bookingId: string;
  /** In minor units of the case's currency. */
  readonly amountMinor: bigint;
}

/** The import row that applies excess. */
export interface ApplyingBalance {
  readonly lenderId: string;
  readonly caseId: string;
  readonly currency: CurrencyCode;
  /** The number of the row's first event. */
  readonly sequence: bigint;
  readonly effectiveAt: Date;
  readonly recordedAt: Date;
}

/**
 * Returns the postings that apply excess of payments to the debt of their case. `transfers` are the transfers of these
 * payments. Post the adjustment of the balance first, so that the receivable never goes below 0.
 *
 * @example
 * const row = { lenderId, caseId, currency: INR, sequence: 7n, effectiveAt: now, recordedAt: now };
 * const transfers = await transfersOfBookings(tx, row, [booking.id]);
 * postTransfers(tx, excessPostings(row, [{ bookingId: booking.id, amountMinor: 5_000n }], transfers));
 */
export function excessPostings(
  { caseId, ...balance }: ApplyingBalance,
  applied: readonly AppliedExcess[],
  transfers: readonly Transfer[],
): Posting[] {
  return applied.map(({ bookingId, amountMinor }) => ({
    ...balance,
    caseId,
    kind: "correction",
    debitAccount: excessAccount(caseId),
    creditAccount: receivableAccount(caseId),
    amountMinor,
    bookingId,
    corrects: newestOf(transfers, bookingId, ["excess"]),
    memo: "Excess applied to a balance that is larger than known",
  }));
}

/**
 * Returns the excess of payments of these loans that balances have applied. The ledger is the only record of it: the
 * corrections from excess to receivable that no reversal has made.
 *
 * @example
 * const reversals = await reversalsOf(tx, lenderId, "LN-2026-00417");
 * const applied = await excessAppliedByBalances(tx, lenderId, ["LN-2026-00417"]);
 * const { excessMinor } = remainingOf(booking, reversals, applied);
 */
export async function excessAppliedByBalances(
  em: EntityManager | Tx,
  lenderId: string,
  loans: readonly string[],
): Promise<AppliedExcess[]> {
  return loans.length === 0 ? [] : query(em, selectApplied, [lenderId, loans]);
}

const selectApplied = statement(
  "ledger.excess-applied-by-balances",
  `select t.booking_id as "bookingId", t.amount_minor as "amountMinor"
   from ledger.payment_booking b
   join ledger.transfer t on t.lender_id = b.lender_id and t.case_id = b.case_id and t.booking_id = b.id
   where b.lender_id = $1 and b.source_loan_number = any ($2::text[]) and b.excess_minor > 0
     and t.kind = 'correction' and t.debit_account like 'excess/%' and t.credit_account like 'receivable/%'
     and not exists (
       select from ledger.payment_reversal r
       where r.lender_id = $1 and r.source_loan_number = b.source_loan_number and r.sequence = t.sequence
     )
   order by t.id`,
);
