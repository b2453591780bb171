import { insertFor, newId, query, send, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { appendOnlyTable } from "@collections/ledger";
import type { CurrencyCode } from "@collections/money";
import { TransferEntity, type TransferKind } from "../schema.ts";

/**
 * A transfer that is not written yet. One row has the account to debit, the account to credit and the amount, so debits
 * and credits are always equal.
 */
export interface Posting {
  readonly lenderId: string;
  readonly debitAccount: string;
  readonly creditAccount: string;
  /** The amount in minor units, always above 0. `debitAccount` and `creditAccount` determine the direction. */
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  readonly kind: TransferKind;
  readonly caseId: string | null;
  readonly bookingId: string | null;
  /** The id of the transfer that a correction corrects; null for any other kind of posting. */
  readonly corrects: string | null;
  /**
   * The sequence number of the loan's event that announced the transfer. Account statements are sorted by this number.
   */
  readonly sequence: bigint | null;
  readonly memo: string;
  /** When the change happened, for example when the borrower paid. */
  readonly effectiveAt: Date;
  /** When the transfer was booked. */
  readonly recordedAt: Date;
}

/** A posting that was written to the ledger. */
export interface Transfer extends Posting {
  readonly id: string;
}

export const transfers = appendOnlyTable(tableOf(TransferEntity));

/**
 * Inserts any number of postings with one SQL statement. A posting between accounts that its kind does not allow, such as a
 * payment that credits another case, fails the transaction. Open the accounts first: `verify` reports a transfer whose
 * account does not exist.
 *
 * @example
 * await transaction(em, async (tx) => {
 *   openAccounts(tx, caseAccounts(lenderId, caseId, INR), now);
 *   const placed = { lenderId, caseId, currency: INR, sequence: 1n, effectiveAt: now, recordedAt: now };
 *   postTransfers(tx, placement({ ...placed, amountMinor: 250_000n }));
 * });
 */
export function postTransfers(tx: Tx, postings: readonly Posting[]): void {
  if (postings.length === 0) return;
  send(
    tx,
    ...insertFor(tx, transfers.insert, transfers.values(postings.map((posting) => ({ ...posting, id: newId() })))),
  );
}

/**
 * Returns the transfers of a case, ordered by sequence. Transfers of earnings have no sequence and come last.
 *
 * @example
 * const transfers = await transfersOf(em, lenderId, caseId);
 * const payments = transfers.filter(({ kind }) => kind === "payment");
 */
export async function transfersOf(em: EntityManager, lenderId: string, caseId: string): Promise<Transfer[]> {
  const options = { orderBy: { sequence: "asc nulls last", id: "asc" }, exclude: ["digest"] } as const;
  return em.find(TransferEntity, { lenderId, caseId }, { ...options, disableIdentityMap: true });
}

/**
 * Returns the transfers that name one of these bookings of a case, ordered by id.
 *
 * @example
 * const transfers = await transfersOfBookings(tx, { lenderId, caseId }, [booking.id]);
 * const payment = transfers.find(({ kind }) => kind === "payment");
 */
export async function transfersOfBookings(
  em: EntityManager | Tx,
  { lenderId, caseId }: { readonly lenderId: string; readonly caseId: string },
  bookingIds: readonly string[],
): Promise<Transfer[]> {
  return bookingIds.length === 0 ? [] : query(em, selectOfBookings, [lenderId, caseId, bookingIds]);
}

/**
 * Returns the transfers that paid out earnings on these cases of a lender, including the corrections that deducted
 * earnings from payouts, ordered by id. The checks of payouts compare these transfers with the earnings that were paid out.
 *
 * @example
 * const paidOut = await payoutTransfersOf(em, lenderId, [caseId]);
 * const paidOutMinor = paidOut.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
 */
export async function payoutTransfersOf(
  em: EntityManager | Tx,
  lenderId: string,
  caseIds: readonly string[],
): Promise<Transfer[]> {
  return caseIds.length === 0 ? [] : query(em, selectPayouts, [lenderId, caseIds]);
}

/**
 * Returns the id of the booking's newest transfer of the first kind in `kinds` for which there is one; null if there is
 * none.
 */
export function newestOf(
  transfers: readonly Transfer[],
  bookingId: string,
  kinds: readonly Transfer["kind"][],
): string | null {
  const own = transfers.filter((transfer) => transfer.bookingId === bookingId);
  for (const kind of kinds) {
    const found = own.findLast((transfer) => transfer.kind === kind);
    if (found) return found.id;
  }
  return null;
}

const selectPayouts = statement(
  "ledger.payout-transfers-of",
  `select ${transfers.selected("t")} from ledger.transfer t
   where t.lender_id = $1 and t.case_id = any($2::uuid[])
     and (t.kind = 'payout' or (t.kind = 'correction' and t.debit_account like 'paid/%')) order by t.id`,
);

const selectOfBookings = statement(
  "ledger.transfers-of-bookings",
  `select ${transfers.selected("t")} from ledger.transfer t
   where t.lender_id = $1 and t.case_id = $2 and t.booking_id = any($3::uuid[]) order by t.id`,
);
