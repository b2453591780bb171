import { type EntityManager, insertFor, newId, query, send, statement, type Tx } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import { appendOnlyTable } from "./append-only-table.ts";

/**
 * What a transfer is for. The chart of accounts says which kinds of account each may move money between; a
 * `correction` may go between any two.
 */
export type TransferKind =
  | "placement"
  | "adjustment"
  | "payment"
  | "excess"
  | "commission"
  | "earning_credited"
  | "payout"
  | "correction";

/** Money that moves from one account to another: one row that cannot be out of balance. Not written yet. */
export interface Posting {
  readonly lenderId: string;
  readonly debitAccount: string;
  readonly creditAccount: string;
  /** Minor units, always more than 0: the direction is in the accounts. */
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  readonly kind: TransferKind;
  readonly caseId: string | null;
  readonly bookingId: string | null;
  /** The transfer that a correction corrects. */
  readonly corrects: string | null;
  /** The loan's sequence that announced it: the order of a case's lines. */
  readonly sequence: bigint | null;
  readonly memo: string;
  /** When it happened in the world. */
  readonly effectiveAt: Date;
  /** When it was booked here. */
  readonly recordedAt: Date;
}

/** A posting in the books. */
export interface Transfer extends Posting {
  readonly id: string;
}

export const transfers = appendOnlyTable<Transfer>("transfer", {
  id: "uuid",
  debitAccount: "text",
  creditAccount: "text",
  amountMinor: "bigint",
  currency: "char(3)",
  kind: "text",
  caseId: "uuid",
  bookingId: "uuid",
  corrects: "uuid",
  sequence: "bigint",
  memo: "text",
  effectiveAt: "timestamptz",
  recordedAt: "timestamptz",
});

/**
 * Writes postings in one statement, whatever their number. A posting that does not follow the chart of accounts, such
 * as a payment that credits another case, fails the transaction. Its accounts have to be open: `verify` names others.
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
  send(tx, ...insertFor(transfers.insert, transfers.values(postings.map((posting) => ({ ...posting, id: newId() })))));
}

/**
 * The transfers of a case in the order of its lines; those of its earnings, which have no place in it, come last.
 *
 * @example
 * const transfers = await transfersOf(em, lenderId, caseId);
 * const payments = transfers.filter(({ kind }) => kind === "payment");
 */
export async function transfersOf(em: EntityManager, lenderId: string, caseId: string): Promise<Transfer[]> {
  return query(em, selectTransfers, [lenderId, caseId]);
}

/**
 * The transfers that paid out earnings on these cases of a lender, in the order of their ids: for checks.
 *
 * @example
 * const paidOut = await payoutTransfersOf(em, lenderId, [caseId]);
 * const paidOutMinor = paidOut.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
 */
export async function payoutTransfersOf(
  em: EntityManager,
  lenderId: string,
  caseIds: readonly string[],
): Promise<Transfer[]> {
  return caseIds.length === 0 ? [] : query(em, selectPayouts, [lenderId, caseIds]);
}

const selectPayouts = statement(
  "ledger.payout-transfers-of",
  `select ${transfers.selected("t")} from ledger.transfer t
   where t.lender_id = $1 and t.case_id = any($2::uuid[]) and t.kind = 'payout' order by t.id`,
);

const selectTransfers = statement(
  "ledger.transfers-of",
  `select ${transfers.selected("t")} from ledger.transfer t
   where t.lender_id = $1 and t.case_id = $2 order by t.sequence nulls last, t.id`,
);
