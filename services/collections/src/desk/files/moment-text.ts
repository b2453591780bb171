import { timeIn } from "@collections/local-time";

/**
 * Formats a moment in local time, with the time zone, and in UTC.
 *
 * @example
 * momentText(at, "Asia/Kolkata"); // 2026-11-20 15:11:07 Asia/Kolkata (2026-11-20T09:41:07.000Z)
 */
export function momentText(at: Date, timeZone: string): string {
  return `${timeIn(timeZone, at)} ${timeZone} (${at.toISOString()})`;
}
