import type { LoanBalance, LockedCase } from "./locked-case.ts";

/** A payment or a reversal of the loan. */
export interface DatedFact {
  /** When the payment was captured, or the money was returned. */
  readonly at: Date;
  /** The number of its event. */
  readonly sequence: bigint;
}

/** A payment that the newest balance does not include. */
export interface LaterPayment {
  readonly bookingId: string;
  readonly reference: string;
  /**
   * The amount, in minor units, without what was reversed because the payment never was on this loan; above 0. Money that
   * came and went is a LaterReversal.
   */
  readonly amountMinor: bigint;
  readonly paidAt: Date;
  /** Whether the whole amount was reversed. */
  readonly isReversed: boolean;
  /** The excess that the payment still holds on the loan's current case; 0 if it is booked on an earlier one. */
  readonly heldMinor: bigint;
}

/** A reversal of money that came and went, which the newest balance does not include. */
export interface LaterReversal {
  /** The reversed amount in minor units. */
  readonly amountMinor: bigint;
}

/** The payments and reversals of the whole loan, over all cycles, that its newest balance does not include. */
export interface LaterMoney {
  readonly payments: readonly LaterPayment[];
  readonly reversals: readonly LaterReversal[];
}

/**
 * Nothing was paid or reversed after the balance.
 *
 * @example
 * const facts = { lenderId, importId: newId(), newCaseId: newId(), later: NO_LATER_MONEY, holder: null, now };
 */
export const NO_LATER_MONEY: LaterMoney = { payments: [], reversals: [] };

type BalancedCase = LoanBalance & Pick<LockedCase, "outstandingAsOf" | "outstandingMinor">;

/**
 * Tells whether the newest balance of a case leaves a payment or a reversal out. A balance with a date leaves out what
 * happened later. A balance without a date leaves out what arrived later, unless it happened up to the last known date.
 *
 * @example
 * const isLeftOut = isLater(importedCase, { at: now, sequence: 7n });
 */
export function isLater(theCase: BalancedCase, { at, sequence }: DatedFact): boolean {
  const { outstandingAsOf, balanceAsOf, balanceSequence } = theCase;
  if (outstandingAsOf !== null && at <= outstandingAsOf) return false;
  return !isBalanceKnown(theCase) || balanceAsOf !== null || balanceSequence === null || sequence > balanceSequence;
}

/**
 * Returns the signed difference: the balance minus later payments plus later reversals. Cut at 0, it is the outstanding
 * amount. What it lies below 0 is the surplus, which a later reversal uses up first.
 *
 * @example
 * const owedMinor = signedDifference(100_000n, { payments: [], reversals: [{ amountMinor: 2_000n }] }); // 102_000n
 */
export function signedDifference(balanceMinor: bigint, { payments, reversals }: LaterMoney): bigint {
  return balanceMinor - sumOf(payments) + sumOf(reversals);
}

/**
 * Returns the signed difference of a case. If its balance is not known, returns a difference that has the outstanding
 * amount of the case, with the excess of later payments as the surplus. The balance is not known in three cases: a
 * process that did not know the column imported the last row, it created the case, or it recorded the last reversal.
 *
 * @example
 * const owedMinor = differenceOf(importedCase, NO_LATER_MONEY);
 */
export function differenceOf(theCase: BalancedCase, later: LaterMoney): bigint {
  const { balanceMinor, outstandingMinor } = theCase;
  const difference = balanceMinor !== null && isBalanceKnown(theCase) ? signedDifference(balanceMinor, later) : null;
  if (difference !== null && atLeastZero(difference) === outstandingMinor) return difference;
  if (outstandingMinor > 0n) return outstandingMinor;
  return -later.payments.reduce((sum, { heldMinor }) => sum + heldMinor, 0n);
}

/**
 * Tells whether the stored balance is the newest one. A process of an older version that imports a row changes
 * `outstandingAsOf`, and leaves the balance of an earlier row.
 *
 * @example
 * if (!isBalanceKnown(importedCase)) console.log("The next row of the loan makes the balance known.");
 */
export function isBalanceKnown({ balanceMinor, balanceAsOf, outstandingAsOf }: BalancedCase): boolean {
  return balanceMinor !== null && (balanceAsOf === null || balanceAsOf.getTime() === outstandingAsOf?.getTime());
}

/** Returns the sum of amounts in minor units. */
export function sumOf(amounts: readonly { readonly amountMinor: bigint }[]): bigint {
  return amounts.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}

/** Returns the amount, or 0 if it is below 0. */
export function atLeastZero(minor: bigint): bigint {
  return minor > 0n ? minor : 0n;
}
