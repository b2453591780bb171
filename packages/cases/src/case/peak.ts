import type { LockedCase } from "./locked-case.ts";

type Money = Pick<
  LockedCase,
  "peakMinor" | "placedMinor" | "outstandingMinor" | "outstandingAsOf" | "totalCollectedMinor" | "excessMinor"
>;

/** What the payments of a case have paid of it: everything captured, without the excess. */
export function appliedOf({ totalCollectedMinor, excessMinor }: Money): bigint {
  return totalCollectedMinor - excessMinor;
}

/**
 * The highest value that outstanding + applied has had in this cycle, as far as it is known. Payments that the balance
 * includes are applied up to it, since no more can have been owed.
 *
 * A process of a version without the column leaves it null on a new case, and leaves a stored value as it is when it
 * raises the balance. So a stored peak is at least the outstanding amount. Applied is not added to it: a payment that
 * the balance includes raises applied alone, and must not raise the limit of the next one.
 */
export function peakOf(theCase: Money): bigint {
  const { peakMinor, placedMinor, outstandingMinor } = theCase;
  if (peakMinor !== null) return max(peakMinor, outstandingMinor);
  return max(placedMinor, outstandingMinor + appliedOf(theCase));
}

/**
 * The case after an import row gave it a balance, with its peak. A row that repeats both the balance and its as-of says
 * nothing new, so the peak stays: it must not depend on how often a row is sent between two payments.
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
