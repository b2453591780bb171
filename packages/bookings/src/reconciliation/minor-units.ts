import { exponentOf } from "@collections/money";
import type { ReconciliationDifference } from "./difference.ts";

/** The differing rows of a run whose amounts are, on one side, in minor units. */
export interface MinorUnitsFinding {
  /** The side with the larger amounts: the rows of the lender, or the bookings. */
  readonly side: "yours" | "ours";
  /** The number of these rows. */
  readonly count: number;
  /** The number of all rows with another amount than their booking. */
  readonly of: number;
}

type Amounts = Pick<
  ReconciliationDifference,
  "rowMinor" | "rowCurrency" | "bookedMinor" | "reversedMinor" | "bookedCurrency"
>;

/**
 * Looks for amounts in minor units among rows with another amount than their booking. Returns undefined, unless in at least
 * nine of ten of these rows the amount of the same side is exactly 100 times the other one. The factor is that of the
 * currency: 1,000 for KWD, and none for JPY.
 *
 * @example
 * const finding = minorUnitsIn(await differencesOf(em, { lenderId, runId }, "amountDiffers", { limit: 10_000 }));
 * if (finding?.side === "yours") console.log(`${finding.count} rows are in minor units.`);
 */
export function minorUnitsIn(differing: readonly Amounts[]): MinorUnitsFinding | undefined {
  const sides = differing.map(sideInMinorUnits);
  for (const side of ["yours", "ours"] as const) {
    const count = sides.filter((one) => one === side).length;
    if (count > 0 && count * 10 >= differing.length * 9) return { side, count, of: differing.length };
  }
  return undefined;
}

/**
 * Describes in one sentence that the amounts of one side are in minor units.
 *
 * @example
 * const finding = minorUnitsIn(differences);
 * if (finding) console.log(minorUnitsText(finding));
 */
export function minorUnitsText({ side, count, of }: MinorUnitsFinding): string {
  const which =
    side === "yours" ? "the row is exactly 100 times the booking" : "the booking is exactly 100 times the row";
  const where = side === "yours" ? "the rows have minor units" : "the payments were confirmed in minor units";
  return `In ${count} of ${of} payments with another amount, ${which} (by the factor of the currency): probably ${where}.`;
}

function sideInMinorUnits(difference: Amounts): MinorUnitsFinding["side"] | undefined {
  const { rowMinor, rowCurrency, bookedMinor, reversedMinor, bookedCurrency } = difference;
  if (rowMinor === null || bookedMinor === null || rowCurrency === null || rowCurrency !== bookedCurrency)
    return undefined;
  const factor = 10n ** BigInt(exponentOf(rowCurrency));
  const leftMinor = bookedMinor - (reversedMinor ?? 0n);
  if (factor === 1n) return undefined;
  if (rowMinor === leftMinor * factor) return "yours";
  return leftMinor === rowMinor * factor ? "ours" : undefined;
}
