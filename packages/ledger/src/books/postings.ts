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

/** A change of what is owed on a case, other than by a payment. */
export interface CaseChange {
  readonly lenderId: string;
  readonly caseId: string;
  readonly currency: CurrencyCode;
  /** The loan's sequence of the event that announces the change. */
  readonly sequence: bigint;
  readonly effectiveAt: Date;
  readonly recordedAt: Date;
  /** Shown on the statement: no personal data, it can never be erased. */
  readonly memo?: string;
}

/** A field partner's earning on one booking, as far as the books care. */
export interface EarningToPost {
  readonly lenderId: string;
  readonly caseId: string;
  readonly bookingId: string;
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  readonly amountMinor: bigint;
}

/**
 * A case is placed for collection. Nothing to post when nothing is owed.
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
 * The lender says that more (above 0) or less (below 0) is owed than the books say. Nothing to post for 0.
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
 * What a booking moves: the applied part settles the receivable, the rest is excess. Post `includedInBalance` before it
 * for a payment that the lender's balance included already.
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
 * The adjustment that keeps the outstanding amount as it is when the balance as of `balanceAsOf` included the payment
 * already. Post it before the payment, so that the receivable never goes below 0.
 *
 * @example
 * bookPayments(tx, [booking]);
 * postTransfers(tx, [...includedInBalance(booking, balanceAsOf), ...paymentPostings(booking)]);
 */
export function includedInBalance(booking: Booking, balanceAsOf: Date): Posting[] {
  const memo = `Payment ${booking.reference} was included in the balance of ${shownMoment(balanceAsOf)}`;
  const change = { ...booking, effectiveAt: balanceAsOf, changeMinor: booking.inBalanceMinor ?? 0n, memo };
  return adjustment(change).map((posting) => ({ ...posting, bookingId: booking.id }));
}

/** As a statement shows it: "22 Nov 18:00 UTC". The line's own date has the year. */
function shownMoment(moment: Date): string {
  const [, day, month, , time = ""] = moment.toUTCString().split(" ");
  return `${Number(day)} ${month} ${time.slice(0, 5)} UTC`;
}

/**
 * A field partner earns commission on a booking: pending until the case ends.
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
 * The case has ended: the lender owes the earning from now on.
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
 * The earning has been paid out at `paidAt`, by a bank transfer of this reference.
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
 * How the transfers of a payout name it, for good.
 *
 * @example
 * payoutMemo("UTR402812345678"); // "Paid out: UTR402812345678"
 */
export function payoutMemo(reference: string): string {
  return `Paid out: ${reference}`;
}

/**
 * Undoes a transfer: the same amount the other way round, naming what it corrects and why.
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
