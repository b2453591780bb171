import type { CaseStatus, OwnCaseCount } from "@collections/cases";
import type { Lender } from "@collections/lenders";
import { builder } from "../plumbing/builder.ts";
import { StatusRef } from "./case.ts";
import { LenderRef } from "./lender.ts";

/** The counts of a list of cases, and the lenders of the cases. */
export interface CountedCases {
  readonly counts: readonly OwnCaseCount[];
  readonly lenders: ReadonlyMap<string, Lender>;
}

interface Counted<Value> {
  readonly value: Value;
  readonly count: number;
}

const COUNT = "The number of cases.";

const LenderCountRef = builder.objectRef<Counted<Lender>>("LenderCount").implement({
  description: "The number of cases of one lender.",
  fields: (t) => ({
    lender: t.field({ type: LenderRef, description: "The lender.", resolve: ({ value }) => value }),
    count: t.exposeInt("count", { description: COUNT }),
  }),
});

const TextCountRef = builder.objectRef<Counted<string>>("TextCount").implement({
  description: "The number of cases with one value of a text.",
  fields: (t) => ({
    value: t.exposeString("value", { description: "The value, to be sent in the filter." }),
    count: t.exposeInt("count", { description: COUNT }),
  }),
});

const StatusCountRef = builder.objectRef<Counted<CaseStatus>>("StatusCount").implement({
  description: "The number of cases with one status.",
  fields: (t) => ({
    status: t.field({ type: StatusRef, description: "The status.", resolve: ({ value }) => value }),
    count: t.exposeInt("count", { description: COUNT }),
  }),
});

export const FacetsRef = builder.objectRef<CountedCases>("CaseFacets").implement({
  description:
    "How many of the listed cases have each value. A value without a case is left out. The greatest number comes first.",
  fields: (t) => ({
    lender: t.field({
      type: [LenderCountRef],
      description: "By lender.",
      resolve: ({ counts, lenders }) =>
        summed(counts, ({ lenderId }) => lenderId).map(({ value, count }) => ({ value: lenders.get(value)!, count })),
    }),
    city: t.field({
      type: [TextCountRef],
      description: "By the city of the address. Spellings in upper and lower case count as one city.",
      resolve: ({ counts }) => cities(counts),
    }),
    bucket: t.field({
      type: [TextCountRef],
      description: "By the band of days past due.",
      resolve: ({ counts }) => summed(counts, ({ bucket }) => bucket),
    }),
    status: t.field({
      type: [StatusCountRef],
      description: "By status.",
      resolve: ({ counts }) => summed(counts, ({ status }) => status),
    }),
    workable: t.int({
      description: "The workable cases.",
      resolve: ({ counts }) => total(counts.filter(({ isWorkable }) => isWorkable)),
    }),
    promised: t.int({
      description: "The workable cases with an open promise.",
      resolve: ({ counts }) => total(counts.filter(({ isWorkable, isPromised }) => isWorkable && isPromised)),
    }),
  }),
});

/** Returns the number of all cases. */
export function total(counts: readonly OwnCaseCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

/** Adds up the counts with the same value. Counts without a value are left out. */
function summed<Value extends string>(
  counts: readonly OwnCaseCount[],
  valueOf: (count: OwnCaseCount) => Value | null,
): Counted<Value>[] {
  const sums = new Map<Value, number>();
  for (const one of counts) {
    const value = valueOf(one);
    if (value !== null) sums.set(value, (sums.get(value) ?? 0) + one.count);
  }
  return [...sums]
    .map(([value, count]) => ({ value, count }))
    .toSorted((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
}

/** Counts by city. Of the spellings of a city, the most frequent one is returned. */
function cities(counts: readonly OwnCaseCount[]): Counted<string>[] {
  const spellings = summed(counts, ({ city }) => city || null);
  const shown = new Map<string, string>();
  for (const { value } of spellings) if (!shown.has(value.toLowerCase())) shown.set(value.toLowerCase(), value);
  return summed(counts, ({ city }) => (city ? shown.get(city.toLowerCase())! : null));
}
