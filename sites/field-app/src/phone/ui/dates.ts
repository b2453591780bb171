/**
 * The app's texts are English, so dates are English too: in the phone's locale if it is English, else in plain English.
 */
const LANGUAGE = navigator.language.startsWith("en") ? navigator.language : "en";
const DAY = new Intl.DateTimeFormat(LANGUAGE, { day: "numeric", month: "short" });
const DAY_IN_FULL = new Intl.DateTimeFormat(LANGUAGE, { weekday: "long", day: "numeric", month: "long" });
const TIME = new Intl.DateTimeFormat(LANGUAGE, { hour: "numeric", minute: "2-digit" });

/** Returns a date or the date of a moment as text, such as 20 Nov. */
export function dayOf(at: string | Date): string {
  return DAY.format(at instanceof Date ? at : new Date(at.includes("T") ? at : `${at}T00:00`));
}

export function dayInFull(at: Date): string {
  return DAY_IN_FULL.format(at);
}

/** Returns the time of a moment as text, with the day if it is not today. */
export function momentOf(at: Date): string {
  const time = TIME.format(at);
  return isoDay(at) === isoDay(new Date()) ? time : `${dayOf(at)}, ${time}`;
}

/** Returns the date in the phone's time zone, such as 2026-11-20. */
export function isoDay(at: Date): string {
  const [month, day] = [at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${at.getFullYear()}-${month}-${day}`;
}
