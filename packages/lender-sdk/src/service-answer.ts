import { type Problem, ProblemError, UnexpectedAnswerError } from "./call-error.ts";
import { parseExact } from "./exact-json.ts";
import { retryAfter } from "./retry-pause.ts";

const SHOWN_CHARACTERS = 200;
/**
 * Statuses that proxies and overloaded servers send. An answer that is not from the service is retryable if it has one
 * of these statuses.
 */
const TEMPORARY_STATUSES = new Set([408, 425, 429, 500, 502, 503, 504]);

/** A successful answer: 2xx, or 304 without a body. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body with amounts as text. `requestId` is from the header. */
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Reads an answer. Throws ProblemError for an error of the contract, and UnexpectedAnswerError if the answer is not
 * from the service.
 */
export function readAnswer({ status, headers }: Response, text: string, nowMs: number): ServiceAnswer {
  const requestId = headers.get("x-request-id") ?? undefined;
  const body = status === 304 ? {} : objectIn(text);
  if (body !== undefined && (status === 304 || (status >= 200 && status < 300))) {
    return { status, headers, body: { ...body, requestId } };
  }
  const retryAfterMs = retryAfter(headers.get("retry-after"), nowMs);
  if (body !== undefined && isProblem(body)) throw new ProblemError(body, retryAfterMs);
  throw new UnexpectedAnswerError(describeAnswer(status, headers, text), {
    status,
    // An answer with 2xx and invalid JSON was cut off in transit. A retry gets the same answer again, complete.
    retryable: TEMPORARY_STATUSES.has(status) || (status >= 200 && status < 300),
    ...(requestId !== undefined && { requestId }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseExact(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function isProblem(body: Record<string, unknown>): body is Problem & Record<string, unknown> {
  return typeof body["code"] === "string" && typeof body["retryable"] === "boolean";
}

function describeAnswer(status: number, headers: Headers, text: string): string {
  const location = headers.get("location");
  if (location !== null) return `${status}: redirected to ${location}. Redirects are not followed; check baseUrl.`;
  const type = headers.get("content-type") ?? "without a type";
  return `${status} (${type}) is not an answer of the collections service: ${JSON.stringify(text.slice(0, SHOWN_CHARACTERS))}`;
}
