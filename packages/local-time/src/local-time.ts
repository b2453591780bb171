/** A period of time, from `from` (included) to `to` (excluded). */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Returns the local time in a time zone (IANA name) at the moment `at`, as the milliseconds of a Date that shows this
 * local time when it is formatted in UTC.
 *
 * @example
 * new Date(wallClock(new Date("2026-11-20T09:41:07Z"), "Asia/Kolkata")).toISOString(); // 2026-11-20T15:11:07.000Z
 */
export function wallClock(at: Date, timeZone: string): number {
  const zone = zoneOf(timeZone);
  const second = Math.floor(at.getTime() / 1_000);
  if (zone.second !== second) {
    zone.offsetMs = shownSecond(zone.formatter, at) - second * 1_000;
    zone.second = second;
  }
  return at.getTime() + zone.offsetMs;
}

/** Returns the local second that a formatter shows, as the milliseconds of a Date that shows it in UTC. */
function shownSecond(formatter: Intl.DateTimeFormat, at: Date): number {
  const parts = Object.fromEntries(formatter.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/**
 * Returns the moment at which the local time in a time zone is `wallMs`, a local time in the form that `wallClock`
 * returns. If that local time occurs twice, returns the earlier moment. If it is skipped because clocks are set
 * forward, the offset from before the change applies, so 02:30 becomes 03:30.
 *
 * @example
 * instantShowing(Date.UTC(2026, 10, 20), "Asia/Kolkata"); // 2026-11-19T18:30:00Z
 */
export function instantShowing(wallMs: number, timeZone: string): Date {
  // Tries the offsets of one day before and one day after the local time. Clocks change at most once between these two
  // moments, so one of the two offsets is right.
  const candidates = [wallMs - DAY_MS, wallMs + DAY_MS].map(
    (ms) => new Date(wallMs - (wallClock(new Date(ms), timeZone) - ms)),
  ) as [Date, Date];
  const exact = candidates.filter((at) => wallClock(at, timeZone) === wallMs);
  return exact.length > 0 ? new Date(Math.min(...exact.map(Number))) : candidates[0];
}

/**
 * Returns the local day in a time zone, as `YYYY-MM-DD`.
 *
 * @example
 * dayIn("Asia/Kolkata", new Date("2026-11-20T20:00:00Z")); // "2026-11-21"
 * const today = dayIn(lender.timeZone, new Date());
 */
export function dayIn(timeZone: string, at: Date): string {
  return timeIn(timeZone, at).slice(0, 10);
}

/**
 * Returns the local day and time in a time zone, to the second.
 *
 * @example
 * timeIn("Asia/Kolkata", new Date("2026-11-20T09:41:07Z")); // "2026-11-20 15:11:07"
 */
export function timeIn(timeZone: string, at: Date): string {
  return new Date(wallClock(at, timeZone)).toISOString().slice(0, 19).replace("T", " ");
}

/**
 * Returns the moment of a local day `YYYY-MM-DD` and local time `HH:MM`, `HH:MM:SS` or `HH:MM:SS.mmm` in a time zone. A
 * local time that occurs twice or is skipped is resolved as in `instantShowing`.
 *
 * @example
 * instantOf("2026-11-20", "18:00", "Asia/Kolkata"); // 2026-11-20T12:30:00Z
 */
export function instantOf(day: string, time: string, timeZone: string): Date {
  return instantShowing(Date.parse(`${day}T${time}Z`), timeZone);
}

/**
 * Returns a local day `YYYY-MM-DD` as a period, from its first moment to the first moment of the next day. If clocks
 * skip midnight, the day begins at the moment when they are set forward. A day after the end of its month counts into
 * the next month: `2026-02-30` is 2 March.
 *
 * @example
 * spanOfDay("2026-11-20", "Asia/Kolkata").to; // 2026-11-20T18:30:00Z
 */
export function spanOfDay(day: string, timeZone: string): Span {
  const [year, month, date] = day.split("-").map(Number) as [number, number, number];
  const midnight = (dayOfMonth: number) => instantShowing(Date.UTC(year, month - 1, dayOfMonth), timeZone);
  return { from: midnight(date), to: midnight(date + 1) };
}

/**
 * Returns a local month `YYYY-MM` as a period, from the first moment of its first day to the first moment of the next month.
 *
 * @example
 * spanOfMonth("2026-11", "Asia/Kolkata").to; // 2026-11-30T18:30:00Z
 */
export function spanOfMonth(month: string, timeZone: string): Span {
  const [year, number] = month.split("-").map(Number) as [number, number];
  const midnight = (monthOfYear: number) => instantShowing(Date.UTC(year, monthOfYear - 1, 1), timeZone);
  return { from: midnight(number), to: midnight(number + 1) };
}

const QUARTER_MS = 15 * 60_000;

/**
 * Returns the times at which the local hours of a day `YYYY-MM-DD` begin, in order. A day on which clocks change has 23 or
 * 25 hours. An hour that occurs twice begins twice. If clocks change by half an hour, an hour may be shorter.
 *
 * @example
 * hoursOfDay("2026-11-20", "Asia/Kolkata").length; // 24
 * hoursOfDay("2026-10-25", "Europe/Berlin").map((at) => timeIn("Europe/Berlin", at)).slice(2, 4); // twice 02:00
 */
export function hoursOfDay(day: string, timeZone: string): Date[] {
  const { from, to } = spanOfDay(day, timeZone);
  const [first, last] = [from, new Date(to.getTime() - 1)].map((at) => wallClock(at, timeZone) - at.getTime());
  if (first === last && to.getTime() - from.getTime() === DAY_MS) {
    return Array.from({ length: 24 }, (_, hour) => new Date(from.getTime() + hour * HOUR_MS));
  }
  const hours: Date[] = [];
  let previous: { readonly hour: number; readonly offset: number } | undefined;
  // Offsets of time zones are multiples of a quarter of an hour.
  for (let at = from.getTime(); at < to.getTime(); at += QUARTER_MS) {
    const wall = wallClock(new Date(at), timeZone);
    const [hour, offset] = [Math.floor(wall / HOUR_MS), wall - at];
    if (hour !== previous?.hour || offset !== previous.offset) hours.push(new Date(at));
    previous = { hour, offset };
  }
  return hours;
}

/** What is kept of a time zone. */
interface Zone {
  readonly formatter: Intl.DateTimeFormat;
  /**
   * The last second that was converted, and its offset from UTC. Most calls are about now: a list of cases asks for the
   * local day of each case.
   */
  second: number;
  offsetMs: number;
}

// Creating a DateTimeFormat costs a hundred times as much as using it. The map needs no limit, because there are only a few
// hundred time zones.
const zones = new Map<string, Zone>();

function zoneOf(timeZone: string): Zone {
  let zone = zones.get(timeZone);
  if (zone === undefined) {
    const formatter = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    zone = { formatter, second: NaN, offsetMs: 0 };
    zones.set(timeZone, zone);
  }
  return zone;
}
