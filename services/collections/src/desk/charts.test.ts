import type { HourFigures, LenderFigures } from "@collections/flows";
import { hoursOfDay } from "@collections/local-time";
import { currency } from "@collections/money";
import { expect, test } from "vitest";
import { shownHours } from "./charts.ts";

/** Returns figures in which every hour has one payment of 1.00 EUR. */
function figuresOf(timeZone: string, day: string, dayBefore: string): LenderFigures {
  const payment = { currency: currency("EUR"), payments: 1, amountMinor: 100n, withExcess: 0, excessMinor: 0n };
  const hours = (of: string) => hoursOfDay(of, timeZone).map((from): HourFigures => ({ from, payments: [payment] }));
  const figures = { lender: { timeZone }, day: { hours: hours(day) }, dayBefore: { hours: hours(dayBefore) } };
  return figures as unknown as LenderFigures;
}

const LATER = new Date("2030-01-01T00:00:00Z");
const PAID = { count: 1, amounts: [{ amount: "1.00", currency: "EUR" }] };

test.each([
  ["a day of 25 hours beside one of 24", "2026-10-25", "2026-10-24", 25, [PAID, null]],
  ["a day of 24 hours beside one of 25", "2026-10-26", "2026-10-25", 25, [null, PAID]],
])("shows each hour of %s", (_, day, dayBefore, count, again) => {
  const hours = shownHours(figuresOf("Europe/Berlin", day, dayBefore), LATER);
  expect(hours).toHaveLength(count);
  expect(hours.slice(2, 5).map(({ hour, isAgain }) => [hour, isAgain])).toEqual([
    ["02:00", false],
    ["02:00", true],
    ["03:00", false],
  ]);
  expect([hours[3]!.day, hours[3]!.dayBefore]).toEqual(again);
});

test("an hour that clocks skip has no payments on its day", () => {
  const hours = shownHours(figuresOf("Europe/Berlin", "2026-03-29", "2026-03-28"), LATER);
  expect(hours).toHaveLength(24);
  expect(hours[2]).toEqual({ hour: "02:00", isAgain: false, day: null, dayBefore: PAID });
});

test("an hour that has not begun is null", () => {
  const now = new Date("2026-11-20T08:59:59Z");
  const hours = shownHours(figuresOf("UTC", "2026-11-20", "2026-11-19"), now);
  expect(hours.filter(({ day }) => day !== null)).toHaveLength(9);
  expect(hours.every(({ dayBefore }) => dayBefore !== null)).toBe(true);
});
