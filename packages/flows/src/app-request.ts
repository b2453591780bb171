/** Where and when a request of the field partner's app is worked. */
export interface AppContext {
  /** The deployment's name (contract: Health response, `env`). */
  readonly environment: string;
  /** The service's clock; the moment of the call unless told. */
  readonly now?: Date;
}

/** What can be wrong with a request of the app, whatever the case or visit that it names. */
export type AppInputFaultCode =
  | "AMOUNT_OUT_OF_RANGE"
  | "CURRENCY_MISMATCH"
  | "INVALID_DATE"
  | "INVALID_LOCATION"
  | "INVALID_TEXT"
  | "PROMISE_NOT_EXPECTED"
  | "PROMISE_REQUIRED"
  | "TOO_LONG";

/** What the app sent can never be right: a code, and a sentence for whoever mends the app. */
export interface AppInputFault {
  readonly kind: "invalid";
  readonly code: AppInputFaultCode;
  readonly detail: string;
}

/** Clocks and time zones of phones are often wrong by hours, and nobody is turned away at a door for that. */
const AHEAD_TOLERANCE_MS = 24 * 60 * 60_000;
const EARLIEST = new Date("2000-01-01T00:00:00Z");

/** A time that no phone shows by a small mistake. How late a fact comes does not matter. */
export function occurredAtFault(occurredAt: Date, now: Date): AppInputFault | undefined {
  if (occurredAt >= EARLIEST && occurredAt.getTime() <= now.getTime() + AHEAD_TOLERANCE_MS) return undefined;
  return {
    kind: "invalid",
    code: "INVALID_DATE",
    detail: `occurredAt must lie between the year 2000 and now, ${now.toISOString()}; check the phone's clock.`,
  };
}

// Making a DateTimeFormat costs a hundred times its use. Time zones come from our own rows: there are a few hundred.
const calendars = new Map<string, Intl.DateTimeFormat>();

/**
 * The day that it is somewhere, `YYYY-MM-DD`; `timeZone` is an IANA name.
 *
 * @example
 * dayIn("Asia/Kolkata", new Date("2026-11-20T20:00:00Z")); // "2026-11-21"
 */
export function dayIn(timeZone: string, now: Date): string {
  let calendar = calendars.get(timeZone);
  if (!calendar) {
    calendar = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
    calendars.set(timeZone, calendar);
  }
  return calendar.format(now);
}
