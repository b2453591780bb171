import {
  commissionExpenseAccount,
  creditedAccount,
  excessAccount,
  paidAccount,
  pendingAccount,
  receivableAccount,
  settledDirectAccount,
} from "./account.ts";
import { adjustment, commission, earningCredited, type EarningToPost, formatTime, payoutMemo } from "./postings.ts";
import type { Reversal } from "./reversal.ts";
import { newestOf, type Posting, type Transfer } from "./transfer.ts";

/**
 * Returns the postings of a reversal: corrections of the payment's transfers, the adjustment of the payment's case, and
 * corrections that apply the excess of other payments. If the payment is of an earlier cycle, an adjustment on the loan's
 * current case names the reversal. `transfers` are the transfers of the payment's booking and of the bookings in
 * `reapplied`. `balanceAsOf` is the time of the balance that already included the reversal, or null.
 *
 * @example
 * const transfers = await transfersOfBookings(tx, reversal, [reversal.bookingId]);
 * recordReversal(tx, reversal);
 * postTransfers(tx, reversalPostings(reversal, transfers, null));
 */
export function reversalPostings(
  reversal: Reversal,
  transfers: readonly Transfer[],
  balanceAsOf: Date | null,
): Posting[] {
  const { lenderId, caseId, currentCaseId, currency, bookingId, reversalReference, reference } = reversal;
  const owedOn = { ...reversal, caseId: currentCaseId ?? caseId };
  const taken = (debitAccount: string, amountMinor: bigint, kinds: readonly Transfer["kind"][]) =>
    correctionOf(reversal, {
      debitAccount,
      creditAccount: settledDirectAccount(lenderId, currency),
      amountMinor,
      bookingId,
      corrects: newestOf(transfers, bookingId, kinds),
      memo: memoOf(reversal),
    });
  const reapplied = reversal.reapplied.map((held) =>
    correctionOf(owedOn, {
      debitAccount: excessAccount(owedOn.caseId),
      creditAccount: receivableAccount(owedOn.caseId),
      amountMinor: BigInt(held.amountMinor),
      bookingId: held.bookingId,
      corrects: newestOf(transfers, held.bookingId, ["excess"]),
      memo: `Excess applied after reversal ${reversalReference} of payment ${reference}`,
    }),
  );
  // The receivable is raised before it is lowered, so that it never goes below 0.
  const postings = [
    taken(excessAccount(caseId), reversal.excessMinor, ["excess"]),
    taken(receivableAccount(caseId), reversal.appliedMinor, ["payment", "excess"]),
    ...balancePosting(reversal, balanceAsOf),
    ...currentPosting(reversal),
    ...reapplied,
  ];
  return postings.filter(({ amountMinor }) => amountMinor > 0n);
}

/** The kinds of an earning's transfers, from the last step to the first. */
const LATEST_STEP_FIRST = ["payout", "earning_credited", "commission"] as const;

/**
 * The change of a field partner's earning on one booking, in minor units, with its sign: because a reversal or a balance
 * changed how much of the payment is applied.
 */
export interface EarningChange {
  readonly lenderId: string;
  readonly caseId: string;
  readonly bookingId: string;
  readonly fieldPartnerId: string;
  readonly currency: EarningToPost["currency"];
  readonly pendingChangeMinor: bigint;
  readonly creditedChangeMinor: bigint;
}

/** Why and when an earning changes. */
export interface EarningChangeCause {
  readonly effectiveAt: Date;
  readonly recordedAt: Date;
  /** The text on the correction of a decrease. It must not contain personal data. */
  readonly memo: string;
}

/**
 * Returns the cause of the earning changes of a reversal.
 *
 * @example
 * const { effectiveAt, memo } = causeOf(reversal);
 */
export function causeOf(reversal: Reversal): EarningChangeCause {
  return { effectiveAt: reversal.reversedAt, recordedAt: reversal.recordedAt, memo: memoOf(reversal) };
}

/**
 * Returns the postings of a changed earning. A decrease is a correction of the booking's commission, credit or payout;
 * an increase is a further commission. `transfers` are the transfers of the booking.
 *
 * @example
 * const transfers = await transfersOfBookings(tx, reversal, [reversal.bookingId]);
 * const change = { ...earning, pendingChangeMinor: -1_250n, creditedChangeMinor: 0n };
 * postTransfers(tx, earningChangePostings(change, causeOf(reversal), transfers));
 */
export function earningChangePostings(
  change: EarningChange,
  cause: EarningChangeCause,
  transfers: readonly Transfer[],
): Posting[] {
  const { lenderId, bookingId, fieldPartnerId, currency, pendingChangeMinor, creditedChangeMinor } = change;
  const expense = commissionExpenseAccount(lenderId, currency);
  const decrease = (debitAccount: string, changeMinor: bigint, kinds: readonly Transfer["kind"][]): Posting[] => {
    if (changeMinor >= 0n) return [];
    const corrects = newestOf(transfers, bookingId, kinds);
    const amounts = { debitAccount, creditAccount: expense, amountMinor: -changeMinor };
    const { caseId } = change;
    return [
      { lenderId, caseId, bookingId, currency, kind: "correction", sequence: null, corrects, ...amounts, ...cause },
    ];
  };
  const increase = (changeMinor: bigint): EarningToPost => ({ ...change, amountMinor: changeMinor });
  const { recordedAt } = cause;
  return [
    ...decrease(pendingAccount(fieldPartnerId, currency), pendingChangeMinor, ["commission"]),
    ...decrease(creditedAccount(fieldPartnerId, currency), creditedChangeMinor, LATEST_STEP_FIRST),
    ...(pendingChangeMinor > 0n ? commission(increase(pendingChangeMinor), recordedAt) : []),
    ...(creditedChangeMinor > 0n
      ? [
          ...commission(increase(creditedChangeMinor), recordedAt),
          ...earningCredited(increase(creditedChangeMinor), recordedAt),
        ]
      : []),
  ];
}

/**
 * Returns the posting that deducts an earning from a payout, because the payment was reversed after it had been
 * credited or paid out. `amountMinor` is the deducted amount, above 0. `transfers` are the transfers of the booking.
 *
 * @example
 * const transfers = await transfersOfBookings(tx, earning, [earning.bookingId]);
 * const paidAt = new Date("2026-12-01T00:00:00Z");
 * postTransfers(tx, [payoutDeduction(earning, transfers, { reference: "UTR402812345678", paidAt, now })]);
 */
export function payoutDeduction(
  earning: EarningToPost,
  transfers: readonly Transfer[],
  { reference, paidAt, now }: { readonly reference: string; readonly paidAt: Date; readonly now: Date },
): Posting {
  const { lenderId, caseId, bookingId, fieldPartnerId, currency, amountMinor } = earning;
  return {
    lenderId,
    caseId,
    bookingId,
    currency,
    amountMinor,
    kind: "correction",
    debitAccount: paidAccount(fieldPartnerId, currency),
    creditAccount: creditedAccount(fieldPartnerId, currency),
    corrects: newestOf(transfers, bookingId, LATEST_STEP_FIRST),
    sequence: null,
    memo: payoutMemo(reference),
    effectiveAt: paidAt,
    recordedAt: now,
  };
}

/** Returns the adjustment of the payment's case that goes with a reversal; none if its amount is 0. */
function balancePosting(reversal: Reversal, balanceAsOf: Date | null): Posting[] {
  const { reference, reversalReference, adjustmentMinor: changeMinor, currentCaseId, inBalance } = reversal;
  const subject = `Reversal ${reversalReference} of payment ${reference}`;
  const memo = () => {
    if (currentCaseId !== null) return `${subject} is owed on the loan's current case`;
    if (inBalance)
      return `${subject} was included in the balance${balanceAsOf ? ` of ${formatTime(balanceAsOf)}` : ""}`;
    if (changeMinor < 0n) return `${subject} was covered by other payments`;
    return `Payment ${reference} was included in a balance and is owed again: reversal ${reversalReference}`;
  };
  return adjustment({ ...reversal, effectiveAt: reversal.reversedAt, changeMinor, memo: memo() });
}

/** Returns the adjustment of the loan's current case, if the payment is of an earlier cycle. */
function currentPosting(reversal: Reversal): Posting[] {
  const { currentCaseId, currentAdjustmentMinor, cycle, reversedAt: effectiveAt } = reversal;
  if (currentCaseId === null || currentAdjustmentMinor === null) return [];
  const memo = `${memoOf(reversal)} of cycle ${cycle}`;
  return adjustment({ ...reversal, caseId: currentCaseId, effectiveAt, changeMinor: currentAdjustmentMinor, memo });
}

function memoOf({ reversalReference, reference }: Reversal): string {
  return `Reversal ${reversalReference} of payment ${reference}`;
}

function correctionOf(
  { lenderId, caseId, currency, sequence, reversedAt, recordedAt }: Reversal,
  line: Pick<Posting, "debitAccount" | "creditAccount" | "amountMinor" | "bookingId" | "corrects" | "memo">,
): Posting {
  return {
    lenderId,
    caseId,
    currency,
    kind: "correction",
    sequence,
    effectiveAt: reversedAt,
    recordedAt,
    ...line,
  };
}
