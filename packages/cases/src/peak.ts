import type { LockedCase } from "./locked-case.ts";

type Money = Pick<LockedCase, "peakMinor" | "placedMinor" | "outstandingMinor" | "totalCollectedMinor" | "excessMinor">;

/** What the payments of a case have paid of it: everything captured, without the excess. */
export function appliedOf({ totalCollectedMinor, excessMinor }: Money): bigint {
  return totalCollectedMinor - excessMinor;
}

/**
 * The highest value that outstanding + applied has had in this cycle: no more can have been owed, so a payment that a
 * balance already includes counts up to it. A case that no import has written since the column exists has none stored;
 * then it is derived, and can only be too low: by a balance that was raised and lowered again before.
 */
export function peakOf(theCase: Money): bigint {
  return theCase.peakMinor ?? max(theCase.placedMinor, theCase.outstandingMinor + appliedOf(theCase));
}

/** The case after an import row gave it a balance: only imports move the peak. */
export function withPeak<C extends Money>(before: Money, after: C): C {
  return { ...after, peakMinor: max(peakOf(before), after.outstandingMinor + appliedOf(after)) };
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
