import type { DayFigures, HourFigures, LenderFigures } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { shownPayments, type ShownSum } from "./figures.ts";

/** The payments of an hour on a day and on the day before. */
export interface ShownHour {
  /** The local hour, such as `09:00`. */
  readonly hour: string;
  /** Whether clocks were set back, and this is the second of two hours with the same number. */
  readonly isAgain: boolean;
  /** Null if the day has no such hour, or if the hour has not begun. */
  readonly day: ShownSum | null;
  readonly dayBefore: ShownSum | null;
}

/** Returns the payments of the hours of two days side by side. An hour that only one of the days has is included. */
export function shownHours({ lender, day, dayBefore }: Omit<LenderFigures, "endpoints">, now: Date): ShownHour[] {
  const [ofDay, ofDayBefore] = [day, dayBefore].map((one) => numbered(lender, one)) as [Hours, Hours];
  const keys = [...new Set([...ofDay.keys(), ...ofDayBefore.keys()])].toSorted();
  const sumOf = (hour: HourFigures | undefined) => (hour && hour.from <= now ? shownPayments(hour.payments) : null);
  return keys.map((key) => ({
    hour: `${key.slice(0, 2)}:00`,
    isAgain: key.length > 2,
    day: sumOf(ofDay.get(key)),
    dayBefore: sumOf(ofDayBefore.get(key)),
  }));
}

type Hours = ReadonlyMap<string, HourFigures>;

/** Returns the hours of a day by their number. A number that occurs twice gets a `+` the second time. */
function numbered({ timeZone }: Lender, { hours }: DayFigures): Hours {
  const byNumber = new Map<string, HourFigures>();
  for (const hour of hours) {
    const number = timeIn(timeZone, hour.from).slice("2026-11-20 ".length, "2026-11-20 18".length);
    byNumber.set(byNumber.has(number) ? `${number}+` : number, hour);
  }
  return byNumber;
}

/** Returns the visits of a day, and how many of them led to a link, to a message with the link, and to a payment. */
export function shownFunnel({ startedVisits, links: { visits } }: DayFigures) {
  const { withLink, withSentLink, withPaidLink } = visits;
  return { visits: startedVisits, withLink, withSentLink, withPaidLink };
}
