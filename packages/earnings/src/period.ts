/** A stretch of the calendar: what is on, or the last one that is over. */
export type Period = "today" | "yesterday" | "week" | "last_week" | "month" | "last_month";

/** From `from` on and before `to`. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}

const DAY_MS = 24 * 60 * 60_000;

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
  const [first, next] = daysOf(period, dayAt(now, timeZone));
  return { from: midnight(first, timeZone), to: midnight(next, timeZone) };
}

/**
 * A day of the calendar, `YYYY-MM-DD`, where clocks show `timeZone`.
 *
 * @example
 * spanOfDay("2026-11-20", "Asia/Kolkata").to; // 2026-11-20T18:30:00Z
 */
export function spanOfDay(day: string, timeZone: string): Span {
  const [year, month, date] = day.split("-").map(Number) as [number, number, number];
  const next = { year, month, day: date + 1 };
  return { from: midnight({ year, month, day: date }, timeZone), to: midnight(next, timeZone) };
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

function dayAt(at: Date, timeZone: string): CalendarDay {
  const shown = new Date(shownAt(at, timeZone));
  return { year: shown.getUTCFullYear(), month: shown.getUTCMonth() + 1, day: shown.getUTCDate() };
}

/**
 * When a day begins there: the first moment that clocks show its midnight or, where they skip midnight, the one at which
 * they do. The day may be out of range. Clocks change at most once in the two days around it.
 */
function midnight({ year, month, day }: CalendarDay, timeZone: string): Date {
  const shown = Date.UTC(year, month - 1, day);
  const withOffsetAt = (ms: number) => shown - (shownAt(new Date(ms), timeZone) - ms);
  const [before, after] = [withOffsetAt(shown - DAY_MS), withOffsetAt(shown + DAY_MS)];
  const begins = [before, after].filter((ms) => shownAt(new Date(ms), timeZone) === shown);
  return new Date(begins.length > 0 ? Math.min(...begins) : before);
}

/** What clocks there show at a moment, to the second, as if it were UTC. */
function shownAt(at: Date, timeZone: string): number {
  const parts = Object.fromEntries(
    clockOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

// Making a DateTimeFormat costs a hundred times as much as using it. Zones are few: those that field partners have.
const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  const clock = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  clocks.set(timeZone, clock);
  return clock;
}
