import { outstandingByAge, type OutstandingOfAge } from "@collections/cases";
import type { Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { type CurrencyCode, toDecimal } from "@collections/money";
import type { App } from "../app.ts";
import { keepReading } from "../metrics/kept-reading.ts";

/** A lender's outstanding amounts, and when they were read. */
export interface OutstandingReading {
  readonly at: Date;
  readonly sums: readonly OutstandingOfAge[];
}

/** Returns the latest reading of a lender's outstanding amounts; undefined if there is none yet. */
export type ReadOutstanding = (lenderId: string) => Promise<OutstandingReading | undefined>;

/**
 * The amounts are read from all cases of the lender, so all pages share amounts that are about a minute old. A page does not
 * wait for them longer than `patienceMs`.
 */
const KEPT = { maxAgeMs: 60_000, patienceMs: 40, uselessAfterMs: 600_000 };

/** Returns the function that reads the outstanding amounts of lenders for all pages of this process. */
export function outstandingReading({ database, log }: Pick<App, "database" | "log">): ReadOutstanding {
  const readings = new Map<string, () => Promise<OutstandingReading | undefined>>();
  return (lenderId) => {
    let read = readings.get(lenderId);
    if (read === undefined) {
      const onError = (error: unknown) =>
        log.warn({ error, lenderId }, "the outstanding amounts for the console could not be read");
      const readNow = async () => ({ at: new Date(), sums: await outstandingByAge(database.em(), lenderId) });
      read = keepReading(readNow, { ...KEPT, onError });
      readings.set(lenderId, read);
    }
    return read();
  };
}

/** The open cases of an age and what they owe. */
export interface ShownAge {
  /** Null for cases whose days past due are unknown. */
  readonly age: OutstandingOfAge["age"];
  readonly cases: number;
  readonly amount: string;
  /** The part of the currency's sum, in percent, rounded. */
  readonly percent: number;
  /** The part of the largest amount of an age in this currency, from 0 to 1. */
  readonly size: number;
}

/** Returns the outstanding amounts as the console shows them, with a chart for each currency. */
export function shownOutstanding(lender: Lender, { at, sums }: OutstandingReading) {
  const currencies = [...Map.groupBy(sums, ({ currency }) => currency)];
  return {
    at: timeOf(lender, at),
    currencies: currencies.map(([currency, ofCurrency]) => ({
      currency,
      cases: ofCurrency.reduce((sum, { cases }) => sum + cases, 0),
      amount: toDecimal(totalOf(ofCurrency), currency),
      ages: shownAges(ofCurrency, currency),
    })),
  };
}

/** Returns the local time of a reading, such as `18:00`. */
export function timeOf({ timeZone }: Lender, at: Date): string {
  return timeIn(timeZone, at).slice("2026-11-20 ".length, "2026-11-20 18:00".length);
}

function shownAges(sums: readonly OutstandingOfAge[], currency: CurrencyCode): ShownAge[] {
  const total = totalOf(sums);
  const most = sums.reduce((max, { outstandingMinor }) => (outstandingMinor > max ? outstandingMinor : max), 0n);
  return sums.map(({ age, cases, outstandingMinor }) => ({
    age,
    cases,
    amount: toDecimal(outstandingMinor, currency),
    percent: Number(roundedPart(outstandingMinor, total, 100n)),
    size: Number(roundedPart(outstandingMinor, most, 10_000n)) / 10_000,
  }));
}

function totalOf(sums: readonly OutstandingOfAge[]): bigint {
  return sums.reduce((total, { outstandingMinor }) => total + outstandingMinor, 0n);
}

/** Returns `parts` times the part of a whole, rounded half up; 0 if the whole is 0. */
function roundedPart(part: bigint, whole: bigint, parts: bigint): bigint {
  return whole === 0n ? 0n : (2n * part * parts + whole) / (2n * whole);
}
