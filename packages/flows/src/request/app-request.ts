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
