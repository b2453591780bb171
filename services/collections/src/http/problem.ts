/**
 * Every error that the REST API answers (contract: Errors): its HTTP status, its title, and whether the very same
 * request may succeed later. The compiler rejects a code that is missing here.
 */
const PROBLEMS = {
  MALFORMED_JSON: [400, "The body is not a JSON object in UTF-8", false],
  JSON_TOO_COMPLEX: [400, "The JSON is nested too deeply or has too many values", false],
  DUPLICATE_FIELD: [400, "An object has the same field twice", false],
  MALFORMED_PATH: [400, "The path has bad percent-encoding", false],
  MALFORMED_HTTP: [400, "The request is not HTTP/1.1", false],

  MISSING_AUTHORIZATION: [401, "The Authorization header is missing", false],
  MISSING_TIMESTAMP: [401, "The X-Service-Timestamp header is missing", false],
  MISSING_SIGNATURE: [401, "The X-Service-Signature header is missing", false],
  MALFORMED_TIMESTAMP: [401, "The timestamp is not a number of milliseconds", false],
  TIMESTAMP_OUT_OF_RANGE: [401, "The timestamp is more than 5 minutes from server time", false],
  UNKNOWN_KEY: [401, "There is no API key with this id", false],
  KEY_REVOKED: [401, "The API key is revoked", false],
  BAD_SIGNATURE: [401, "The signature does not match", false],

  LENDER_SUSPENDED: [403, "The lender is suspended", false],
  DEBUGGER_CLOSED: [403, "The signature debugger is closed", false],
  PORTAL_OFF: [403, "The service has no portal", false],
  SANDBOX_ONLY: [403, "Scenes are played only in a sandbox", false],

  ROUTE_NOT_FOUND: [404, "There is no such endpoint", false],
  LOAN_NOT_FOUND: [404, "There is no such loan", false],
  PAYMENT_NOT_FOUND: [404, "There is no such payment", false],
  DELIVERY_NOT_FOUND: [404, "There is no such delivery", false],
  RECONCILIATION_NOT_FOUND: [404, "There is no such reconciliation", false],
  REPLAY_NOT_FOUND: [404, "There is no such replay", false],
  METHOD_NOT_ALLOWED: [405, "The endpoint does not support this method", false],
  REQUEST_TIMEOUT: [408, "The request did not arrive in time", true],
  UNSUPPORTED_MEDIA_TYPE: [415, "The body must be application/json", false],

  DUPLICATE_CONFIRMATION: [409, "The payment is booked already", false],
  DUPLICATE_REVERSAL: [409, "The reversal is recorded already", false],
  SCENE_NOT_PLAYABLE: [409, "The scene cannot be played on the case", false],
  CALLBACK_NOT_CONFIGURED: [409, "No callback URL is registered", false],
  MINT_URL_NOT_CONFIGURED: [409, "Mint calls are not configured", false],
  PAYLOAD_TOO_LARGE: [413, "The body is too large", false],

  VALIDATION_FAILED: [422, "The request is not valid", false],
  REQUIRED: [422, "A required field is missing", false],
  WRONG_TYPE: [422, "A field has the wrong type", false],
  TOO_LONG: [422, "A field is too long", false],
  INVALID_TEXT: [422, "A text has characters that cannot be stored", false],
  INVALID_PHONE: [422, "A phone number is not valid", false],
  INVALID_DATE: [422, "A date is not valid", false],
  NOT_UTC: [422, "A time has no time zone", false],
  INVALID_CURRENCY: [422, "A currency is not valid", false],
  INVALID_ENUM: [422, "A value is not one of those allowed", false],
  DUPLICATE_IN_REQUEST: [422, "The loan appears twice in the request", false],
  AMOUNT_PRECISION: [422, "The amount has more decimals than its currency", false],
  AMOUNT_OUT_OF_RANGE: [422, "The amount is out of range", false],
  AMOUNT_LOOKS_LIKE_MINOR_UNITS: [422, "The amount looks like minor units", false],
  CURRENCY_MISMATCH: [422, "The currency differs from the currency of the case", false],
  PAID_AT_IN_FUTURE: [422, "The payment date is in the future", false],
  REVERSAL_EXCEEDS_PAYMENT: [422, "The reversal is more than is left of the payment", false],
  REVERSED_BEFORE_PAID: [422, "The reversal is before its payment", false],
  REVERSED_AT_IN_FUTURE: [422, "The reversal date is in the future", false],
  LINK_LOAN_MISMATCH: [422, "The payment link belongs to another loan", false],
  TOO_MANY_ROWS: [422, "The request has too many rows", false],
  IMPORT_REJECTED: [422, "The import was rejected as a whole", false],

  RATE_LIMITED: [429, "Too many requests", true],
  HEADERS_TOO_LARGE: [431, "The headers are too large", false],
  INTERNAL_ERROR: [500, "Something went wrong on our side", true],
  SERVICE_UNAVAILABLE: [503, "The service cannot answer at the moment", true],
} as const satisfies Record<string, readonly [status: number, title: string, retryable: boolean]>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** A wrong field of a request: its JSON pointer (RFC 6901), and in `detail` what to do about it. */
export interface FieldFault {
  code: ProblemCode;
  pointer: string;
  detail: string;
}

/** Seconds after which a client may repeat a request that failed for a temporary reason. */
export const RETRY_AFTER_S = 2;

/** An answer of 4xx or 5xx. A handler throws it, and the error handler writes it. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly detail: string;
  /** Further members of the body, besides those that every problem has. */
  readonly members: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(
    code: ProblemCode,
    detail: string,
    members: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ) {
    super(`${code}: ${detail}`);
    this.code = code;
    this.detail = detail;
    this.members = members;
    this.headers = PROBLEMS[code][2] ? { "Retry-After": String(RETRY_AFTER_S), ...headers } : headers;
  }

  get status(): number {
    return PROBLEMS[this.code][0];
  }

  /** The meaning of the code, in words. */
  get title(): string {
    return PROBLEMS[this.code][1];
  }
}

/**
 * Returns the problem of a request with wrong fields. If only one field is wrong, the problem has the code of that
 * fault.
 */
export function validationProblem(errors: FieldFault[], members: Record<string, unknown> = {}): Problem {
  const [only, ...others] = errors;
  if (only && others.length === 0) return new Problem(only.code, only.detail, { ...members, errors });
  return new Problem("VALIDATION_FAILED", `${errors.length} fields need attention.`, { ...members, errors });
}

/**
 * Returns the body of a problem (RFC 9457). Its `status` equals the HTTP status. Its `type` is the URL of the page that
 * explains the code, below `documentationUrl` (`Config.documentationUrl`).
 */
export function problemBody(problem: Problem, requestId: string, documentationUrl: string): Record<string, unknown> {
  const [status, title, retryable] = PROBLEMS[problem.code];
  return {
    type: `${documentationUrl}/errors/${problem.code}`,
    title,
    status,
    detail: problem.detail,
    success: false,
    code: problem.code,
    requestId,
    retryable,
    ...problem.members,
  };
}

/** Returns the headers of a problem's answer. */
export function problemHeaders(problem: Problem): Record<string, string> {
  return { "Content-Type": "application/problem+json", ...problem.headers };
}
