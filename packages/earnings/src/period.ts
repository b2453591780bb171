/** A stretch of the calendar up to now. */
export type Period = "today" | "week" | "month";

/** From `from` on and before `to`. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}

interface CalendarDay {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
}

/** The day, the week (from Monday) or the month that `now` is in where clocks show `timeZone` (IANA, "Asia/Kolkata"). */
export function spanOf(period: Period, timeZone: string, now: Date): Span {
  const { year, month, day } = dayAt(now, timeZone);
  const weekday = (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
  const [first, next] = {
    today: [
      { year, month, day },
      { year, month, day: day + 1 },
    ],
    week: [
      { year, month, day: day - weekday },
      { year, month, day: day - weekday + 7 },
    ],
    month: [
      { year, month, day: 1 },
      { year, month: month + 1, day: 1 },
    ],
  }[period] as [CalendarDay, CalendarDay];
  return { from: midnight(first, timeZone), to: midnight(next, timeZone) };
}

function dayAt(at: Date, timeZone: string): CalendarDay {
  const shown = new Date(shownAt(at, timeZone));
  return { year: shown.getUTCFullYear(), month: shown.getUTCMonth() + 1, day: shown.getUTCDate() };
}

/**
 * When a day begins there. Days and months may be out of range, they roll over. The offset is looked up twice, as it
 * may differ between the first guess and the answer on the day that clocks change.
 */
function midnight({ year, month, day }: CalendarDay, timeZone: string): Date {
  const shown = Date.UTC(year, month - 1, day);
  const offsetAt = (ms: number) => shownAt(new Date(ms), timeZone) - ms;
  const guess = shown - offsetAt(shown);
  return new Date(shown - offsetAt(guess));
}

/** What clocks there show at a moment, to the second, as if it were UTC. */
function shownAt(at: Date, timeZone: string): number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}
