import { Problem, problemBody, type ProblemCode, PROBLEM_CODES } from "../../http/problem.ts";
import { canonicalExample, findingExample } from "../v1/debug-signature.ts";
import { KEY_ID } from "../v1/examples.ts";
import { originalExample } from "../v1/confirm-payment.ts";
import { originalReversalExample } from "../v1/reverse-payment.ts";
import { rejectedRowsExample } from "../v1/import-examples.ts";
import { problemShape } from "./problem-answer.ts";
import { type JsonSchema, referenceTo } from "./schemas.ts";

const REQUEST_ID = "req_019aa3c2e09f7a66b2c3d4e5f6071829";

/** The meaning of each status, for all of its codes. */
const STATUS_MEANINGS: Readonly<Record<number, string>> = {
  400: "The request could not be parsed.",
  401: "The request could not be authenticated.",
  403: "The caller is not allowed to do this.",
  404: "The object does not exist, or belongs to another lender.",
  405: "The path does not support this method. `Allow` names the methods that it supports.",
  408: "The request did not arrive in time. Send the same bytes again.",
  409: "The request conflicts with the current state: it cannot be processed now, or was already processed.",
  413: "The body is too large.",
  415: "The body has an unsupported content type.",
  422: "The request was understood and refused, because its content is not valid.",
  429: "There were too many requests. Send more after `Retry-After`.",
  431: "The headers are too large.",
  500: "The service has failed. Send the same request again.",
  503: "The service cannot answer at the moment. Send the same bytes again after `Retry-After`.",
};

const HEADERS: Readonly<Record<number, readonly string[]>> = {
  405: ["Allow"],
  408: ["Retry-After"],
  429: ["Retry-After"],
  500: ["Retry-After"],
  503: ["Retry-After"],
};

/** An example of a problem for each error code: its `detail`, and its members besides those that every problem has. */
const EXAMPLES: Readonly<Record<ProblemCode, readonly [detail: string, members?: Record<string, unknown>]>> = {
  MALFORMED_JSON: ['The body must be a JSON object, such as {"amount": 2500}.'],
  JSON_TOO_COMPLEX: ["The JSON is nested deeper than 32 levels."],
  DUPLICATE_FIELD: field("/amount", "/amount is sent twice; send each field of an object once."),
  MALFORMED_PATH: ["The path has a % that is not followed by two hexadecimal digits, or bytes that are not UTF-8."],
  MALFORMED_HTTP: ["Send a Host header: HTTP/1.1 requires it."],
  MISSING_AUTHORIZATION: ["Send Authorization: Bearer <apiKeyId>."],
  MISSING_TIMESTAMP: ["Send X-Service-Timestamp: Unix time in milliseconds."],
  MISSING_SIGNATURE: ["Send X-Service-Signature: the hex HMAC-SHA256 of the request."],
  MALFORMED_TIMESTAMP: ["X-Service-Timestamp takes decimal digits: Unix time in milliseconds."],
  TIMESTAMP_OUT_OF_RANGE: [
    "Sign with a clock within 5 minutes of server time. The value looks like seconds.",
    { serverTime: "2026-12-03T05:20:00.000Z", skewMs: 1_794_480_523_725 },
  ],
  UNKNOWN_KEY: ["The key id of the Authorization header is not known here."],
  KEY_REVOKED: ["Sign with an active key of this lender."],
  BAD_SIGNATURE: [
    "The signature is not the HMAC-SHA256 of what the server received.",
    { ...canonicalExample, diagnosis: [findingExample] },
  ],
  LENDER_SUSPENDED: ["The operator has suspended this lender: imports are refused until it is resumed."],
  DEBUGGER_CLOSED: [
    `Ask the operator to open the signature debugger for ${KEY_ID} (for an hour), or debug in the sandbox.`,
  ],
  PORTAL_OFF: ["This service has no portal: ask your operator to set CONSOLE=on."],
  SANDBOX_ONLY: ["This service is not a sandbox (ENVIRONMENT is live). Send the call to the sandbox of your operator."],
  ROUTE_NOT_FOUND: ["There is nothing at /api/v1/partner/case."],
  LOAN_NOT_FOUND: ["There is no case of this loan; import it first."],
  PAYMENT_NOT_FOUND: ["No payment of this loan is booked under this reference; confirm the payment first."],
  DELIVERY_NOT_FOUND: ["There is no event with this id; the list of deliveries has the ids of your events."],
  RECONCILIATION_NOT_FOUND: [
    "There is no reconciliation with this id; the list of reconciliations has the ids of the last 90 days.",
  ],
  REPLAY_NOT_FOUND: ["There is no replay with this id; use the id in the answer that started the replay."],
  METHOD_NOT_ALLOWED: ["Send POST here."],
  REQUEST_TIMEOUT: ["The request did not arrive in time; send the same bytes again, faster."],
  UNSUPPORTED_MEDIA_TYPE: ["Send Content-Type: application/json; got text/plain."],
  DUPLICATE_CONFIRMATION: [
    "This payment is booked already; treat this answer as success.",
    { matches: true, differences: [], original: originalExample, reversedAmount: 0, reversals: [] },
  ],
  DUPLICATE_REVERSAL: [
    "This reversal is recorded already; treat this answer as success.",
    { matches: true, differences: [], original: originalReversalExample },
  ],
  SCENE_NOT_PLAYABLE: ["The case has ended: import the loan with an outstandingAmount above 0, which opens it again."],
  CALLBACK_NOT_CONFIGURED: ["No callback URL is registered; register one, then send the test again."],
  MINT_URL_NOT_CONFIGURED: ["The lender has registered no mint-link URL."],
  PAYLOAD_TOO_LARGE: ["The body may have 16384 bytes at most.", { limitBytes: 16_384 }],
  VALIDATION_FAILED: [
    "2 fields need attention.",
    {
      errors: [
        { code: "REQUIRED", pointer: "/reference", detail: "reference: is required." },
        { code: "NOT_UTC", pointer: "/paidAt", detail: "paidAt: has no zone; add Z or an offset." },
      ],
    },
  ],
  REQUIRED: field("/reference", "reference: is required."),
  WRONG_TYPE: field("/amount", "amount: takes a JSON number in major units, such as 2500 or 2500.5, not a string."),
  TOO_LONG: field("/reference", "reference: takes at most 128 characters."),
  INVALID_TEXT: field("/reference", "reference: has control characters or half a surrogate pair."),
  INVALID_PHONE: field("/rows/0/borrowerPhone", "Expected E.164, for example +919800000001."),
  INVALID_DATE: field("/paidAt", "paidAt: there is no such day."),
  NOT_UTC: field("/paidAt", "paidAt: has no zone; add Z or an offset."),
  INVALID_CURRENCY: field("/rows/0/currency", "Expected an active ISO 4217 code such as INR."),
  INVALID_ENUM: field(
    "/reason",
    "reason: takes one of bank_reversed, chargeback, bounced, duplicate, wrong_loan, entered_by_mistake, other.",
  ),
  DUPLICATE_IN_REQUEST: field("/rows/1/sourceLoanNumber", "Row 0 is about the same loan; send one row for each loan."),
  AMOUNT_PRECISION: field("/amount", "INR takes at most 2 decimals; got 1200.125."),
  AMOUNT_OUT_OF_RANGE: field("/amount", "Expected an amount above 0; got 0."),
  AMOUNT_LOOKS_LIKE_MINOR_UNITS: field(
    "/amount",
    '180000 is exactly 100 times what is owed. Send major units, or "amountIsMajorUnits": true if the amount is right.',
  ),
  CURRENCY_MISMATCH: field("/rows/0/currency", "The case is in INR; got USD."),
  PAID_AT_IN_FUTURE: field("/paidAt", "paidAt is ahead of server time, 2026-12-03T05:20:00.000Z."),
  REVERSAL_EXCEEDS_PAYMENT: field("/amount", "Earlier reversals have left 700.00 INR of this payment."),
  REVERSED_BEFORE_PAID: field(
    "/reversedAt",
    "reversedAt is before the payment was captured, 2026-12-03T05:17:31.000Z.",
  ),
  REVERSED_AT_IN_FUTURE: field("/reversedAt", "reversedAt is ahead of server time, 2026-12-05T09:43:00.000Z."),
  LINK_LOAN_MISMATCH: field("/linkId", "This link was minted for another loan."),
  TOO_MANY_ROWS: ["Send at most 1000 rows at a time; got 1200."],
  IMPORT_REJECTED: [
    "5 of 5 rows are wrong; nothing was applied.",
    { ...rejectedRowsExample, dryRun: false, success: false },
  ],
  RATE_LIMITED: ["This key may send 60 requests a minute here; wait 12 s."],
  HEADERS_TOO_LARGE: ["Request line and headers may have 16 KiB together; send less."],
  INTERNAL_ERROR: ["Repeat the same request; if it happens again, tell us the requestId."],
  SERVICE_UNAVAILABLE: ["Repeat the same request, with the same bytes, in a moment."],
};

/** Returns the example problem of each code, with a `type` below `documentationUrl`. */
export function problemExamples(documentationUrl: string): Record<ProblemCode, object> {
  const examples = PROBLEM_CODES.map((code) => {
    const problem = exampleOf(code);
    const value = problemBody(problem, REQUEST_ID, documentationUrl);
    return [code, { summary: value["title"], value }] as const;
  });
  return Object.fromEntries(examples) as Record<ProblemCode, object>;
}

/** Returns the responses that have these codes, by status. */
export function problemResponses(
  codes: readonly ProblemCode[],
  commonHeaders: readonly string[],
): Record<string, object> {
  const byStatus = Map.groupBy(codes, (code) => exampleOf(code).status);
  const responses = [...byStatus].map(([status, some]) => [
    String(status),
    problemResponse(status, some, commonHeaders),
  ]);
  return Object.fromEntries(responses) as Record<string, object>;
}

function problemResponse(status: number, codes: readonly ProblemCode[], commonHeaders: readonly string[]): object {
  const headers = [...commonHeaders, ...(HEADERS[status] ?? [])];
  const titles = codes.map((code) => `- \`${code}\`: ${exampleOf(code).title}`);
  return {
    description: `${STATUS_MEANINGS[status]}\n\n${titles.join("\n")}`,
    headers: headerReferences(headers),
    content: {
      "application/problem+json": {
        schema: schemaOf(status, codes),
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

/** Returns references to headers of the OpenAPI document, by the names of the headers. */
export function headerReferences(names: readonly string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/**
 * Returns the schema of a response: one alternative for each kind of problem, with the codes of that kind. The codes
 * stand in `allOf`, because generators of clients ignore keywords beside a `$ref`.
 */
function schemaOf(status: number, codes: readonly ProblemCode[]): JsonSchema {
  const kinds = [...Map.groupBy(codes, (code) => problemShape(code, status))].map(([name, some]) => ({
    allOf: [
      { $ref: referenceTo(name) },
      { type: "object", required: ["code"], properties: { code: { type: "string", enum: some } } },
    ],
  }));
  const [only, ...others] = kinds;
  return only && others.length === 0 ? only : { oneOf: kinds };
}

function exampleOf(code: ProblemCode): Problem {
  const [detail, members = {}] = EXAMPLES[code];
  const { errors, ...more } = members;
  return new Problem(code, detail, errors ? { ...more, errors: withCode(errors as FieldExample[], code) } : more);
}

interface FieldExample {
  readonly code?: string;
  readonly pointer: string;
  readonly detail: string;
}

/**
 * Returns an example of a problem with one wrong field. `withCode` adds the code of the problem to the field's fault.
 */
function field(pointer: string, detail: string): readonly [string, Record<string, unknown>] {
  return [detail, { errors: [{ pointer, detail }] }];
}

function withCode(errors: readonly FieldExample[], code: string): object[] {
  return errors.map((error) => ({ code, ...error }));
}
