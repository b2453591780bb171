import type { LockedCase } from "./locked-case.ts";

type Money = Pick<
  LockedCase,
  "peakMinor" | "placedMinor" | "outstandingMinor" | "outstandingAsOf" | "totalCollectedMinor" | "excessMinor"
>;

/** Returns the applied amount of a case: the sum of its payments, without the excess. */
export function appliedOf({ totalCollectedMinor, excessMinor }: Money): bigint {
  return totalCollectedMinor - excessMinor;
}

/**
 * Returns the highest known value of outstanding + applied in this cycle. Payments that the balance includes are
 * applied up to this value, because the borrower cannot have owed more.
 *
 * Processes of older versions do not know the column. They leave it null on a new case, and do not raise it when they
 * raise the balance. So the result is at least the outstanding amount.
 *
 * If the case has a stored peak, the applied amount is not added to the outstanding amount. Otherwise each payment that
 * the balance already includes would raise the applied amount, and so the limit for the next such payment.
 */
export function peakOf(theCase: Money): bigint {
  const { peakMinor, placedMinor, outstandingMinor } = theCase;
  if (peakMinor !== null) return max(peakMinor, outstandingMinor);
  return max(placedMinor, outstandingMinor + appliedOf(theCase));
}

/**
 * Returns the case after an import row has set its balance, with the new peak. A row that repeats the balance and its
 * `outstandingAsOf` does not change the peak: the peak must not depend on how often a row is sent between two payments.
 */
export function withPeak<C extends Money>(before: Money, after: C): C {
  const isRepeat =
    after.outstandingMinor === before.outstandingMinor &&
    after.outstandingAsOf?.getTime() === before.outstandingAsOf?.getTime();
  const peakMinor = isRepeat ? peakOf(before) : max(peakOf(before), after.outstandingMinor + appliedOf(after));
  return { ...after, peakMinor };
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
