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

/** When a visit began or ended. */
export interface VisitTime {
  /** The phone's time, or the time of arrival if the phone's time was impossible. */
  readonly occurredAt: Date;
  /** Whether the phone's time was impossible. */
  readonly clockWrong: boolean;
}

/**
 * Returns the time of a visit's start or end. A visit has taken place, so it is recorded whatever the phone's clock
 * says: a time before 2000 or more than a day after the arrival is replaced by the time of arrival.
 */
export function visitTime(phoneTime: Date, receivedAt: Date): VisitTime {
  const clockWrong = isImpossible(phoneTime, receivedAt);
  return { occurredAt: clockWrong ? receivedAt : phoneTime, clockWrong };
}

/** Tells whether a phone's time is before 2000 or more than a day after the arrival of the request. */
export function isImpossible(phoneTime: Date, receivedAt: Date): boolean {
  // Also true for an invalid date.
  return !(phoneTime >= EARLIEST && phoneTime.getTime() <= receivedAt.getTime() + AHEAD_TOLERANCE_MS);
}
