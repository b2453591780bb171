import type { ProblemCode } from "../../http/problem.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";

const AUTHENTICATION: readonly ProblemCode[] = [
  "MISSING_AUTHORIZATION",
  "MISSING_TIMESTAMP",
  "MISSING_SIGNATURE",
  "MALFORMED_TIMESTAMP",
  "TIMESTAMP_OUT_OF_RANGE",
  "UNKNOWN_KEY",
  "KEY_REVOKED",
  "BAD_SIGNATURE",
];
const IDENTIFICATION: readonly ProblemCode[] = ["MISSING_AUTHORIZATION", "UNKNOWN_KEY", "KEY_REVOKED"];
const READING_A_BODY: readonly ProblemCode[] = [
  "MALFORMED_JSON",
  "JSON_TOO_COMPLEX",
  "DUPLICATE_FIELD",
  "UNSUPPORTED_MEDIA_TYPE",
  "VALIDATION_FAILED",
];
const ANY_REQUEST: readonly ProblemCode[] = [
  "MALFORMED_HTTP",
  "HEADERS_TOO_LARGE",
  "REQUEST_TIMEOUT",
  // Only imports answer with LENDER_SUSPENDED today. The OpenAPI document still lists it for all endpoints, because no
  // documented answer is removed within /v1.
  "LENDER_SUSPENDED",
  "PAYLOAD_TOO_LARGE",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE",
];

/** Returns every code that an endpoint may answer: its own, and those of the checks that come before its handler. */
export function problemCodesOf({ path, signed, operation }: Endpoint): ProblemCode[] {
  const codes = new Set<ProblemCode>([
    ...(path.includes("{") ? (["MALFORMED_PATH"] as const) : []),
    ...(signed === false ? IDENTIFICATION : AUTHENTICATION),
    ...(operation.request ? READING_A_BODY : []),
    ...operation.problems,
    ...ANY_REQUEST,
  ]);
  return [...codes];
}
