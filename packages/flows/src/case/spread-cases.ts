import type { CurrencyCode } from "@collections/money";

/** A case to spread. Amounts are in minor units of `currency`. */
export interface CaseToSpread {
  readonly loan: string;
  readonly outstandingMinor: bigint;
  readonly currency: CurrencyCode;
  /** The postal code of the first address; null if it is unknown. */
  readonly postalCode: string | null;
}

/**
 * How cases are spread. By `amount`, all people get about the same number of cases and about the same sum. By
 * `postal-code`, all cases of a postal code go to one person, and all people get about the same number.
 *
 * @example
 * const isKnown = SPREAD_RULES.some((rule) => rule === "amount");
 */
export const SPREAD_RULES = ["postal-code", "amount"] as const;
/** One of SPREAD_RULES. */
export type SpreadRule = (typeof SPREAD_RULES)[number];

/** A case, and the person who gets it. */
export interface SpreadCase {
  readonly loan: string;
  readonly fieldPartnerId: string;
}

/** A case that a person already has, and its postal code. */
export interface CaseOfPerson {
  readonly fieldPartnerId: string;
  readonly postalCode: string | null;
}

/**
 * Decides who gets which case. The same cases and people always get the same result, whatever the order of the cases.
 * `people` are ids of field partners, at least one, each once. `had` are cases that these people already have: by
 * `postal-code`, further cases of a postal code go to the person who has most of its cases. So a run that was interrupted
 * does not divide a postal code when it is repeated.
 *
 * @example
 * const cases = [{ loan: "LN-1001", outstandingMinor: 500_000n, currency: currency("INR"), postalCode: "411045" }];
 * const [first] = spreadCases(cases, [fieldPartnerId], "amount");
 */
export function spreadCases(
  cases: readonly CaseToSpread[],
  people: readonly string[],
  rule: SpreadRule,
  had: readonly CaseOfPerson[] = [],
): SpreadCase[] {
  const ordered = cases.toSorted(byLoan);
  return rule === "amount" ? spreadByAmount(ordered, people) : spreadByPostalCode(ordered, people, had);
}

/**
 * Deals the cases in rounds, the largest amounts first. In each round every person gets one case: the person with the
 * smallest sum gets the largest case. So the numbers differ by one at most, and each round evens out the sums.
 */
function spreadByAmount(cases: readonly CaseToSpread[], people: readonly string[]): SpreadCase[] {
  const spread: SpreadCase[] = [];
  const counts = new Map(people.map((person) => [person, 0]));
  for (const [, ofCurrency] of [...Map.groupBy(cases, ({ currency }) => currency)].toSorted(byKey)) {
    const sums = new Map(people.map((person) => [person, 0n]));
    let round: string[] = [];
    for (const { loan, outstandingMinor } of ofCurrency.toSorted(byAmount)) {
      if (round.length === 0) {
        // A round that is not full gives a case only to people with the fewest cases.
        round = people.toSorted((a, b) => counts.get(a)! - counts.get(b)! || compare(sums.get(a)!, sums.get(b)!));
      }
      const person = round.shift()!;
      sums.set(person, sums.get(person)! + outstandingMinor);
      counts.set(person, counts.get(person)! + 1);
      spread.push({ loan, fieldPartnerId: person });
    }
  }
  return spread;
}

/**
 * Gives each postal code to the person who already has most of its cases, or else to the person with the fewest cases,
 * beginning with the postal code that has the most cases.
 */
function spreadByPostalCode(
  cases: readonly CaseToSpread[],
  people: readonly string[],
  had: readonly CaseOfPerson[],
): SpreadCase[] {
  const counts = new Map(people.map((person) => [person, 0]));
  const holders = holdersOf(people, had);
  // Cases without a postal code have no place in common, so each of them is a group of its own. The key of such a group
  // contains a line break, so that it differs from every postal code.
  const groups = Map.groupBy(cases, ({ postalCode, loan }) => (postalCode === null ? `\n${loan}` : areaOf(postalCode)));
  const largestFirst = [...groups].toSorted((a, b) => b[1].length - a[1].length || byKey(a, b));
  // Postal codes with a holder come first, so that the others even out the numbers.
  const inOrder = [
    ...largestFirst.filter(([area]) => holders.has(area)),
    ...largestFirst.filter(([area]) => !holders.has(area)),
  ];
  return inOrder.flatMap(([area, group]) => {
    const fewest = people.reduce((least, one) => (counts.get(one)! < counts.get(least)! ? one : least));
    const person = holders.get(area) ?? fewest;
    counts.set(person, counts.get(person)! + group.length);
    return group.map(({ loan }) => ({ loan, fieldPartnerId: person }));
  });
}

/** Returns, for each postal code of cases that the people have, the person who has most of these cases. */
function holdersOf(people: readonly string[], had: readonly CaseOfPerson[]): Map<string, string> {
  const known = had.filter(({ fieldPartnerId }) => people.includes(fieldPartnerId));
  const areas = Map.groupBy(known, ({ postalCode }) => (postalCode === null ? "" : areaOf(postalCode)));
  areas.delete("");
  return new Map(
    [...areas].map(([area, ofArea]) => {
      const ofPerson = (person: string) => ofArea.filter(({ fieldPartnerId }) => fieldPartnerId === person).length;
      const counts = new Map(people.map((person) => [person, ofPerson(person)]));
      return [area, people.reduce((most, one) => (counts.get(one)! > counts.get(most)! ? one : most))];
    }),
  );
}

/** Returns a postal code in the form in which two spellings of it are equal. */
function areaOf(postalCode: string): string {
  return postalCode.replaceAll(/\s/g, "").toLowerCase();
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function byLoan(a: CaseToSpread, b: CaseToSpread): number {
  return compare(a.loan, b.loan);
}

function byAmount(a: CaseToSpread, b: CaseToSpread): number {
  return compare(b.outstandingMinor, a.outstandingMinor) || byLoan(a, b);
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return compare(a, b);
}
