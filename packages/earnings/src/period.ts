import { instantShowing, type Span, wallClock } from "@collections/local-time";

/** A day, week or month: the current one or the previous one. */
export type Period = "today" | "yesterday" | "week" | "last_week" | "month" | "last_month";

interface CalendarDay {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
}

/**
 * Returns the start and end of a period relative to `now`, in the time zone `timeZone` (an IANA name, "Asia/Kolkata").
 * Weeks start on Monday.
 *
 * @example
 * spanOf("today", "Asia/Kolkata", new Date("2026-11-20T09:41:07Z")).from; // 2026-11-19T18:30:00Z
 */
export function spanOf(period: Period, timeZone: string, now: Date): Span {
  const [first, next] = daysOf(period, calendarDay(now, timeZone));
  return { from: midnight(first, timeZone), to: midnight(next, timeZone) };
}

/**
 * Returns the first day of a period and the day after its last day. Day and month may be out of range, such as day 0;
 * `midnight` rolls them over.
 */
function daysOf(period: Period, { year, month, day }: CalendarDay): [first: CalendarDay, next: CalendarDay] {
  const days = (first: number, next: number): [CalendarDay, CalendarDay] => [
    { year, month, day: first },
    { year, month, day: next },
  ];
  const months = (first: number): [CalendarDay, CalendarDay] => [
    { year, month: first, day: 1 },
    { year, month: first + 1, day: 1 },
  ];
  const monday = day - ((new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7);
  switch (period) {
    case "today":
      return days(day, day + 1);
    case "yesterday":
      return days(day - 1, day);
    case "week":
      return days(monday, monday + 7);
    case "last_week":
      return days(monday - 7, monday);
    case "month":
      return months(month);
    case "last_month":
      return months(month - 1);
  }
}

function calendarDay(at: Date, timeZone: string): CalendarDay {
  const local = new Date(wallClock(at, timeZone));
  return { year: local.getUTCFullYear(), month: local.getUTCMonth() + 1, day: local.getUTCDate() };
}

/** Returns when a day begins. Day and month may be out of range and then roll over into the next or previous month. */
function midnight({ year, month, day }: CalendarDay, timeZone: string): Date {
  return instantShowing(Date.UTC(year, month - 1, day), timeZone);
}
