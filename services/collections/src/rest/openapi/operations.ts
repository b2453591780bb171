import type { ProblemCode } from "../../http/problem.ts";
import type { Operation } from "./operation.ts";
import { CASE_OPERATIONS } from "./case-operations.ts";
import { DELIVERY_OPERATIONS } from "./delivery-operations.ts";

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
const OF_BODIES: readonly ProblemCode[] = [
  "MALFORMED_JSON",
  "JSON_TOO_COMPLEX",
  "DUPLICATE_FIELD",
  "UNSUPPORTED_MEDIA_TYPE",
  "VALIDATION_FAILED",
];
const OF_ALL: readonly ProblemCode[] = [
  "MALFORMED_HTTP",
  "HEADERS_TOO_LARGE",
  "REQUEST_TIMEOUT",
  // Only imports answer it now. It stays documented everywhere: within /v1 no described answer is removed.
  "LENDER_SUSPENDED",
  "PAYLOAD_TOO_LARGE",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE",
];

/** Every operation of the REST API. */
export const OPERATIONS: readonly Operation[] = [...CASE_OPERATIONS, ...DELIVERY_OPERATIONS];

/** Every code that an operation may answer, its own and those that come before its own work. */
export function problemsOf({ path, signed, request, problems }: Operation): ProblemCode[] {
  const all = new Set<ProblemCode>([
    ...(path.includes("{") ? (["MALFORMED_PATH"] as const) : []),
    ...(signed === false ? IDENTIFICATION : AUTHENTICATION),
    ...(request ? OF_BODIES : []),
    ...problems,
    ...OF_ALL,
  ]);
  return [...all];
}
