import { instantShowing, type Span, wallClock } from "@collections/local-time";

/** A stretch of the calendar: what is on, or the last one that is over. */
export type Period = "today" | "yesterday" | "week" | "last_week" | "month" | "last_month";

interface CalendarDay {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
}

/**
 * The day, the week (from Monday) or the month that `now` is in where clocks show `timeZone` (IANA, "Asia/Kolkata"), or
 * the one before.
 *
 * @example
 * spanOf("today", "Asia/Kolkata", new Date("2026-11-20T09:41:07Z")).from; // 2026-11-19T18:30:00Z
 */
export function spanOf(period: Period, timeZone: string, now: Date): Span {
  const [first, next] = daysOf(period, calendarDay(now, timeZone));
  return { from: midnight(first, timeZone), to: midnight(next, timeZone) };
}

/** The first day of a period and the day after its last one; they may be out of range, they roll over. */
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
  const shown = new Date(wallClock(at, timeZone));
  return { year: shown.getUTCFullYear(), month: shown.getUTCMonth() + 1, day: shown.getUTCDate() };
}

/** The moment when a day begins, whose numbers may be out of range: then they roll over. */
function midnight({ year, month, day }: CalendarDay, timeZone: string): Date {
  return instantShowing(Date.UTC(year, month - 1, day), timeZone);
}
