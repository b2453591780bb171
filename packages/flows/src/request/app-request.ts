/** The context of a request of the field partners' app. */
export interface AppContext {
  /** The deployment's name (contract: Health response, `env`). */
  readonly environment: string;
  /** The time of the service's clock. Default: the time of the call. */
  readonly now?: Date;
}

/** The faults that a request of the app can have, independent of its case or visit. */
export type AppInputFaultCode =
  | "AMOUNT_OUT_OF_RANGE"
  | "CURRENCY_MISMATCH"
  | "INVALID_DATE"
  | "INVALID_LOCATION"
  | "INVALID_TEXT"
  | "PROMISE_NOT_EXPECTED"
  | "PROMISE_REQUIRED"
  | "TOO_LONG";

/** The request is invalid: a code, and a sentence for the developer of the app. */
export interface AppInputFault {
  readonly kind: "invalid";
  readonly code: AppInputFaultCode;
  readonly detail: string;
}

/**
 * How far a phone's time may be in the future. Clocks and time zones of phones are often wrong by hours, and that must
 * not stop a field partner at a door.
 */
const AHEAD_TOLERANCE_MS = 24 * 60 * 60_000;
const EARLIEST = new Date("2000-01-01T00:00:00Z");

/**
 * Returns a fault for a time before 2000 or more than a day in the future. How late the request arrives does not
 * matter.
 */
export function occurredAtFault(occurredAt: Date, now: Date): AppInputFault | undefined {
  if (occurredAt >= EARLIEST && occurredAt.getTime() <= now.getTime() + AHEAD_TOLERANCE_MS) return undefined;
  return {
    kind: "invalid",
    code: "INVALID_DATE",
    detail: `occurredAt must lie between the year 2000 and now, ${now.toISOString()}; check the phone's clock.`,
  };
}
