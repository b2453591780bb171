/** The kinds of faults of a row or of one of its fields. */
export type RowFaultCode =
  | "REQUIRED"
  | "WRONG_TYPE"
  | "INVALID_TEXT"
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
  | "LOAN_NOT_FOUND";

/** The kinds of warnings about a row that is applied, such as an ignored field or an effect that was not requested. */
export type RowWarningCode =
  | "UNKNOWN_FIELD"
  | "READ_ONLY_FIELD"
  | "FIELD_NOT_APPLIED"
  | "PAYMENT_AFTER_SNAPSHOT"
  | "REVERSAL_AFTER_SNAPSHOT"
  | "STALE_SNAPSHOT"
  | "AS_OF_IN_FUTURE"
  | "BALANCE_WITHOUT_AS_OF"
  | "SIMILAR_LOAN_NUMBER"
  | "IDENTITY_IN_DOUBT"
  | "CASE_ENDED";

/**
 * A fault because of which a row is rejected. `pointer` is a JSON pointer into the request: `/rows/2/borrowerPhone`.
 */
export interface RowFault {
  readonly code: RowFaultCode;
  readonly pointer: string;
  readonly detail: string;
}

/** A warning about a row. The row is applied nevertheless. */
export interface RowWarning {
  readonly code: RowWarningCode;
  readonly pointer: string;
  readonly detail: string;
}

/** Returns the JSON pointer of a field of the object at `parent`, escaped as in RFC 6901. */
export function pointerTo(parent: string, field: string | number): string {
  return `${parent}/${String(field).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

const QUOTED_CHARACTERS = 40;

/**
 * Returns the beginning of a text from a row, in quotation marks, for a fault's `detail`. Lone surrogates become
 * U+FFFD, because PostgreSQL does not store them in JSON. A cut in the middle of an emoji also leaves a lone surrogate.
 */
export function quotedStart(text: string): string {
  return `"${text.slice(0, QUOTED_CHARACTERS).toWellFormed()}"`;
}
