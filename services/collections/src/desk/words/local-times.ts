import { timeIn } from "@collections/local-time";

const ISO_TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/**
 * Writes each ISO 8601 time of a text as a local time with its time zone. Removes such a time behind the same local time. A
 * text that only looks like a time stays as it is.
 *
 * @example
 * withLocalTimes("failed since 2026-11-20T12:30:00.000Z", "Asia/Kolkata"); // failed since 2026-11-20 18:00:00 Asia/Kolkata
 */
export function withLocalTimes(given: string, timeZone: string): string {
  return given.replaceAll(/(?<=\d\d:\d\d:\d\d \S+) \(\d{4}-\d\d-\d\dT[\d:.]+Z\)/g, "").replaceAll(ISO_TIME, (text) => {
    const at = new Date(text);
    return Number.isNaN(at.getTime()) ? text : `${timeIn(timeZone, at)} ${timeZone}`;
  });
}
