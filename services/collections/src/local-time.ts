const DAY_MS = 24 * 60 * 60_000;

/**
 * The instant at which clocks in a time zone (IANA name) show a day `YYYY-MM-DD` and a time `HH:MM`, `HH:MM:SS` or
 * `HH:MM:SS.mmm`. A time that clocks show twice is the earlier of the two. A time that they skip is read as if they had
 * not been set forward yet: 02:30 becomes 03:30.
 *
 * @example
 * instantOf("2026-11-20", "18:00", "Asia/Kolkata"); // 2026-11-20T12:30:00Z
 */
export function instantOf(day: string, time: string, timeZone: string): Date {
  const shown = Date.parse(`${day}T${time}Z`);
  // Clocks change at most once in the two days around it.
  const candidates = [shown - DAY_MS, shown + DAY_MS].map((ms) => shown - (shownAt(ms, timeZone) - ms));
  const exact = candidates.filter((ms) => shownAt(ms, timeZone) === shown);
  return new Date(exact.length > 0 ? Math.min(...exact) : candidates[0]!);
}

/** The day that clocks in a time zone show, `YYYY-MM-DD`. */
export function dayAt(at: Date, timeZone: string): string {
  return new Date(shownAt(at.getTime(), timeZone)).toISOString().slice(0, 10);
}

/**
 * A moment for people: what clocks in the time zone show, and UTC beside it.
 *
 * @example
 * momentText(at, "Asia/Kolkata"); // 2026-11-20 15:11:07 Asia/Kolkata (2026-11-20T09:41:07.000Z)
 */
export function momentText(at: Date, timeZone: string): string {
  const local = new Date(shownAt(at.getTime(), timeZone)).toISOString().slice(0, 19).replace("T", " ");
  return `${local} ${timeZone} (${at.toISOString()})`;
}

/** The time zone of this machine, or the one that the environment variable `TZ` names. */
export function machineTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** What clocks show at a moment, as if it were UTC. */
function shownAt(ms: number, timeZone: string): number {
  const parts = Object.fromEntries(
    clockOf(timeZone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((ms % 1_000) + 1_000) % 1_000);
}

// Making a DateTimeFormat costs a hundred times as much as using it.
const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(timeZone: string): Intl.DateTimeFormat {
  let clock = clocks.get(timeZone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat("en-US", {
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
  }
  return clock;
}
