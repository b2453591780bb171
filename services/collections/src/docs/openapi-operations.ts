import type { ProblemCode } from "../rest/problem.ts";
import type { NamedSchemas } from "./openapi-schemas.ts";
import { CASE_OPERATIONS } from "./openapi-case-operations.ts";
import { DELIVERY_OPERATIONS } from "./openapi-delivery-operations.ts";

/** One endpoint and method as the OpenAPI document shows it. */
export interface Operation {
  readonly method: "GET" | "POST";
  /** Parameters of the path in braces. */
  readonly path: string;
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Anybody with a key id may call it. */
  readonly signed?: false;
  readonly parameters?: readonly Parameter[];
  readonly request?: RequestBody;
  readonly answers: Readonly<Record<number, OperationAnswer>>;
  /** What it may answer beside what every operation may. */
  readonly problems: readonly ProblemCode[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly schema: object;
  readonly example?: unknown;
}

export interface RequestBody {
  /** One schema, by its name in the document; further ones are parts of it that have names too. */
  readonly schemas: NamedSchemas;
  readonly required: boolean;
  readonly examples: Examples;
}

export interface OperationAnswer {
  readonly description: string;
  /** One schema, by its name in the document; further ones are parts of it that have names too. None: no body. */
  readonly schemas?: NamedSchemas;
  readonly examples?: Examples;
  readonly headers?: readonly string[];
}

/** Values by a sentence about them. */
export type Examples = Readonly<Record<string, unknown>>;

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
