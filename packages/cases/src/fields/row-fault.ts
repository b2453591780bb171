/** What can be wrong with a row or one of its fields. */
export type RowFaultCode =
  | "REQUIRED"
  | "WRONG_TYPE"
  | "TOO_LONG"
  | "INVALID_PHONE"
  | "INVALID_DATE"
  | "NOT_UTC"
  | "INVALID_CURRENCY"
  | "CURRENCY_MISMATCH"
  | "INVALID_ENUM"
  | "AMOUNT_PRECISION"
  | "AMOUNT_OUT_OF_RANGE"
  | "PERSONAL_DATA"
  | "DUPLICATE_IN_REQUEST"
  | "STALE_SNAPSHOT"
  | "LOAN_NOT_FOUND";

/**
 * What the sender of a row that is applied should know: a field that nobody reads, or an effect that was not asked for.
 */
export type RowWarningCode =
  | "UNKNOWN_FIELD"
  | "READ_ONLY_FIELD"
  | "FIELD_NOT_APPLIED"
  | "PAYMENT_AFTER_SNAPSHOT"
  | "STALE_SNAPSHOT"
  | "AS_OF_IN_FUTURE"
  | "CASE_ENDED";

/** A fault of one row: it is rejected. `pointer` is a JSON pointer into the request, `/rows/2/borrowerPhone`. */
export interface RowFault {
  readonly code: RowFaultCode;
  readonly pointer: string;
  readonly detail: string;
}

/** Something the sender should know of a row that is applied all the same. */
export interface RowWarning {
  readonly code: RowWarningCode;
  readonly pointer: string;
  readonly detail: string;
}

/** The pointer of a field below another pointer, escaped as RFC 6901 says. */
export function pointerTo(parent: string, field: string | number): string {
  return `${parent}/${String(field).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

const QUOTED_CHARACTERS = 40;

/**
 * The beginning of a text from a row, in quotation marks, for a fault's `detail`. A lone surrogate, also one that the
 * cut leaves of an emoji, becomes U+FFFD: PostgreSQL stores none in JSON.
 */
export function quotedStart(text: string): string {
  return `"${text.slice(0, QUOTED_CHARACTERS).toWellFormed()}"`;
}
