import { readInstant } from "@collections/cases";
import { dayIn, instantOf } from "@collections/local-time";

/** Returns the moment that a text names. A local time in the text is read in `timeZone`. */
export type LocalMoment = (timeZone: string) => Date;

/** The forms of a moment, for messages. */
export const EXPECTED_MOMENT =
  "Expected a local time such as 09:00 (today) or 2026-11-20 18:00, or a time with a zone such as 2026-11-20T12:30:00Z";

/** Reads a moment with Z or an offset, or in local time: `2026-11-20 18:00`, or `09:00` for today. */
export function readClockMoment(text: string): LocalMoment | undefined {
  const reading = readInstant(text);
  if ("instant" in reading) return () => reading.instant;
  const ofToday = /^\d{1,2}:\d{2}(?::\d{2})?$/.test(text) ? text.padStart(text.length < 6 ? 5 : 8, "0") : undefined;
  // The text is parsed as UTC only to validate it and to split it into day and time.
  const local = readInstant(ofToday === undefined ? `${text}Z` : `2000-01-01T${ofToday}Z`);
  if (!("instant" in local)) return undefined;
  const [day = "", time = ""] = local.instant.toISOString().slice(0, -1).split("T");
  return (timeZone) => instantOf(ofToday === undefined ? day : dayIn(timeZone, new Date()), time, timeZone);
}
