import { timeIn } from "@collections/local-time";

const ISO_TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/**
 * Writes each ISO 8601 time of a text as a local time with its time zone. Times that a text has in both forms stay once.
 *
 * @example
 * withLocalTimes("failed since 2026-11-20T12:30:00.000Z", "Asia/Kolkata"); // failed since 2026-11-20 18:00:00 Asia/Kolkata
 */
export function withLocalTimes(text: string, timeZone: string): string {
  return text
    .replaceAll(/(?<=\d\d:\d\d:\d\d \S+) \(\d{4}-\d\d-\d\dT[\d:.]+Z\)/g, "")
    .replaceAll(ISO_TIME, (at) => `${timeIn(timeZone, new Date(at))} ${timeZone}`);
}
