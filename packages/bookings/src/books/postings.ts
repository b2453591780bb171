import type { CurrencyCode } from "@collections/money";
import {
  commissionExpenseAccount,
  creditedAccount,
  excessAccount,
  paidAccount,
  pendingAccount,
  placedAccount,
  receivableAccount,
  settledDirectAccount,
} from "./account.ts";
import type { Booking } from "./booking.ts";
import type { Posting, Transfer } from "./transfer.ts";

/** A change of the amount owed on a case, other than by a payment. */
export interface CaseChange {
  readonly lenderId: string;
  readonly caseId: string;
  readonly currency: CurrencyCode;
  /** The sequence number of the loan's event that announces the change. */
  readonly sequence: bigint;
  readonly effectiveAt: Date;
  readonly recordedAt: Date;
  /** The text shown on the account statement. It must not contain personal data, because it can never be erased. */
  readonly memo?: string;
}

/** A field partner's earning on one booking, with the fields that its transfers need. */
export interface EarningToPost {
  readonly lenderId: string;
  readonly caseId: string;
  readonly bookingId: string;
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  readonly amountMinor: bigint;
}

/**
 * Returns the posting for a case that is placed for collection, or none if the amount is 0.
 *
 * @example
 * const placed = { lenderId, caseId, currency: INR, sequence: 1n, effectiveAt: now, recordedAt: now };
 * postTransfers(tx, placement({ ...placed, amountMinor: 250_000n }));
 */
export function placement(change: CaseChange & { readonly amountMinor: bigint }): Posting[] {
  const { lenderId, caseId, currency, amountMinor } = change;
  if (amountMinor === 0n) return [];
  return [
    {
      ...caseLine(change, "Placed for collection"),
      kind: "placement",
      debitAccount: receivableAccount(caseId),
      creditAccount: placedAccount(lenderId, currency),
      amountMinor,
    },
  ];
}

/**
 * Returns the posting that adjusts the outstanding amount to the lender's balance. `changeMinor` is positive for an
 * increase and negative for a decrease. Returns no posting if `changeMinor` is 0.
 *
 * @example
 * const change = { lenderId, caseId, currency: INR, sequence: 7n, effectiveAt: now, recordedAt: now };
 * postTransfers(tx, adjustment({ ...change, changeMinor: -40_000n, memo: "Late fee waived" }));
 */
export function adjustment(change: CaseChange & { readonly changeMinor: bigint }): Posting[] {
  const { lenderId, caseId, currency, changeMinor } = change;
  if (changeMinor === 0n) return [];
  const [receivable, placed] = [receivableAccount(caseId), placedAccount(lenderId, currency)];
  const upwards = changeMinor > 0n;
  return [
    {
      ...caseLine(change, "Adjusted by the lender"),
      kind: "adjustment",
      debitAccount: upwards ? receivable : placed,
      creditAccount: upwards ? placed : receivable,
      amountMinor: upwards ? changeMinor : -changeMinor,
    },
  ];
}

/**
 * Returns the postings of a booking: the applied part lowers the receivable, and the rest is posted as excess. If the
 * lender's balance already included the payment, post `includedInBalance` first.
 *
 * @example
 * bookPayments(tx, [booking]);
 * postTransfers(tx, paymentPostings(booking));
 */
export function paymentPostings(booking: Booking): Posting[] {
  const { lenderId, caseId, currency, appliedMinor, excessMinor } = booking;
  const line = {
    ...caseLine({ ...booking, effectiveAt: booking.paidAt }, `Payment ${booking.reference}`),
    bookingId: booking.id,
    debitAccount: settledDirectAccount(lenderId, currency),
  };
  const applied: Posting = {
    ...line,
    kind: "payment",
    creditAccount: receivableAccount(caseId),
    amountMinor: appliedMinor,
  };
  const excess: Posting = { ...line, kind: "excess", creditAccount: excessAccount(caseId), amountMinor: excessMinor };
  return [applied, excess].filter(({ amountMinor }) => amountMinor > 0n);
}

/**
 * Returns the adjustment for a payment that was already included in the balance as of `balanceAsOf`, and no posting for
 * any other payment. The adjustment and the payment together leave the outstanding amount unchanged. Post the
 * adjustment first, so that the receivable never goes below 0.
 *
 * @example
 * bookPayments(tx, [booking]);
 * postTransfers(tx, [...includedInBalance(booking, balanceAsOf), ...paymentPostings(booking)]);
 */
export function includedInBalance(booking: Booking, balanceAsOf: Date): Posting[] {
  const memo = `Payment ${booking.reference} was included in the balance of ${formatTime(balanceAsOf)}`;
  const change = { ...booking, effectiveAt: balanceAsOf, changeMinor: booking.inBalanceMinor ?? 0n, memo };
  return adjustment(change).map((posting) => ({ ...posting, bookingId: booking.id }));
}

/** Formats a time for an account statement: "22 Nov 18:00 UTC". The year is left out because the line's date shows it. */
export function formatTime(time: Date): string {
  const [, day, month, , clock = ""] = time.toUTCString().split(" ");
  return `${Number(day)} ${month} ${clock.slice(0, 5)} UTC`;
}

/**
 * Returns the posting for the commission that a field partner earns on a booking. The commission is pending until the
 * case ends.
 *
 * @example
 * const { id: bookingId } = booking;
 * const earned = { lenderId, caseId, bookingId, fieldPartnerId, currency: INR, amountMinor: 6_250n };
 * postTransfers(tx, [...paymentPostings(booking), ...commission(earned, now)]);
 */
export function commission(earning: EarningToPost, now: Date): Posting[] {
  const { lenderId, fieldPartnerId, currency } = earning;
  return earningLine(earning, now, {
    kind: "commission",
    memo: "Commission earned",
    debitAccount: commissionExpenseAccount(lenderId, currency),
    creditAccount: pendingAccount(fieldPartnerId, currency),
  });
}

/**
 * Returns the posting that credits an earning when the case has ended. From then on the lender owes the amount to the
 * field partner.
 *
 * @example
 * postTransfers(tx, earningCredited(earning, now));
 */
export function earningCredited(earning: EarningToPost, now: Date): Posting[] {
  const { fieldPartnerId, currency } = earning;
  return earningLine(earning, now, {
    kind: "earning_credited",
    memo: "Earning credited",
    debitAccount: pendingAccount(fieldPartnerId, currency),
    creditAccount: creditedAccount(fieldPartnerId, currency),
  });
}

/**
 * Returns the posting for an earning that was paid out at `paidAt` by the bank transfer with this reference.
 *
 * @example
 * const paidAt = new Date("2026-12-01T00:00:00Z");
 * postTransfers(tx, payout(earning, { reference: "UTR402812345678", paidAt, now }));
 */
export function payout(
  earning: EarningToPost,
  { reference, paidAt, now }: { readonly reference: string; readonly paidAt: Date; readonly now: Date },
): Posting[] {
  const { fieldPartnerId, currency } = earning;
  return earningLine(earning, now, {
    kind: "payout",
    memo: payoutMemo(reference),
    debitAccount: creditedAccount(fieldPartnerId, currency),
    creditAccount: paidAccount(fieldPartnerId, currency),
  }).map((posting) => ({ ...posting, effectiveAt: paidAt }));
}

/**
 * Returns the memo of a payout's transfers. Its format must never change, because checks compare it with the memos of
 * existing transfers.
 *
 * @example
 * payoutMemo("UTR402812345678"); // "Paid out: UTR402812345678"
 */
export function payoutMemo(reference: string): string {
  return `Paid out: ${reference}`;
}

/**
 * Returns the posting that corrects a transfer: it moves the same amount in the opposite direction. It has the id of
 * the wrong transfer and the reason.
 *
 * @example
 * const [wrong] = await transfersOf(em, lenderId, caseId);
 * if (wrong) postTransfers(tx, [correction(wrong, { memo: "Placed twice by mistake", sequence: 8n, now })]);
 */
export function correction(
  wrong: Transfer,
  right: { readonly memo: string; readonly sequence: bigint | null; readonly now: Date },
): Posting {
  return {
    lenderId: wrong.lenderId,
    debitAccount: wrong.creditAccount,
    creditAccount: wrong.debitAccount,
    amountMinor: wrong.amountMinor,
    currency: wrong.currency,
    kind: "correction",
    caseId: wrong.caseId,
    bookingId: wrong.bookingId,
    corrects: wrong.id,
    sequence: right.sequence,
    memo: right.memo,
    effectiveAt: wrong.effectiveAt,
    recordedAt: right.now,
  };
}

function caseLine(change: CaseChange, memo: string) {
  const { lenderId, caseId, currency, sequence, effectiveAt, recordedAt } = change;
  const fixed = { bookingId: null, corrects: null, memo: change.memo ?? memo };
  return { lenderId, caseId, currency, sequence, effectiveAt, recordedAt, ...fixed };
}

function earningLine(
  earning: EarningToPost,
  now: Date,
  line: Pick<Posting, "kind" | "memo" | "debitAccount" | "creditAccount">,
): Posting[] {
  const { lenderId, caseId, bookingId, currency, amountMinor } = earning;
  if (amountMinor === 0n) return [];
  const fixed = { corrects: null, sequence: null, effectiveAt: now, recordedAt: now };
  return [{ lenderId, caseId, bookingId, currency, amountMinor, ...fixed, ...line }];
}
