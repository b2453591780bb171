import { compareClock } from "./clock.ts";
import type { Operation } from "./operations.ts";

/**
 * Thrown if no usable answer arrived: no network, a time-out, or a service that is temporarily unavailable. The same
 * request may be sent again.
 */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
  /** `NO_NETWORK`, `UNREADABLE_ANSWER`, or the code of the service's error. */
  readonly code: string;
  /** How long the service asked to wait, if it did. */
  readonly retryAfterMs: number | undefined;
  /** Whether the service failed to process this particular request; other requests may succeed. */
  readonly isFault: boolean;

  constructor(code = "NO_NETWORK", message = "No usable answer arrived.", retryAfterMs?: number) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.isFault = code === "INTERNAL" || code === "UNREADABLE_ANSWER";
  }
}

/** Thrown if the API refused the request; `code` is from the error's extensions. */
export class RefusedRequestError extends Error {
  override readonly name = "RefusedRequestError";
  readonly code: string;
  /** How long the service asked to wait, if it did. */
  readonly retryAfterMs: number | undefined;

  constructor(code: string, message: string, retryAfterMs?: number) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

interface Body<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly { readonly message: string; readonly extensions?: Extensions }[];
}

interface Extensions {
  readonly code?: string;
  readonly retryAfterS?: number;
}

const TIMEOUT_MS = 20_000;
const ENDPOINT = `${document.documentElement.dataset["base"] ?? ""}/graphql`;
/** Codes after which the same request may succeed later. */
const FOR_NOW = new Set(["RATE_LIMITED", "INTERNAL", "UNAVAILABLE", "UNREADABLE_ANSWER"]);

/** Sends one operation. @throws NoAnswerError, RefusedRequestError */
export async function send<Data>(operation: Operation<Data>, variables: object, accessToken?: string): Promise<Data> {
  let response: Response;
  let body: Body<Data>;
  try {
    const askedMs = Date.now();
    response = await post(operation, variables, "application/json", AbortSignal.timeout(TIMEOUT_MS), accessToken);
    compareClock(response, askedMs);
    body = (await response.json()) as Body<Data>;
  } catch {
    throw new NoAnswerError();
  }
  return dataOf(body, response);
}

/** Returns the data of an answer. @throws NoAnswerError, RefusedRequestError */
export function dataOf<Data>({ data, errors }: Body<Data>, response?: Response): Data {
  const [error] = errors ?? [];
  if (error === undefined && data !== undefined && data !== null) return data;
  const { code = "UNREADABLE_ANSWER", retryAfterS } = error?.extensions ?? {};
  const waitS = retryAfterS ?? Number(response?.headers.get("Retry-After") ?? 0);
  const waitMs = waitS * 1_000 || undefined;
  if (!FOR_NOW.has(code)) throw new RefusedRequestError(code, error?.message ?? code, waitMs);
  throw new NoAnswerError(code, error?.message, waitMs);
}

/** Sends a request. `accept` chooses the form of the answer: JSON or a stream of events. */
export function post(
  query: string,
  variables: object,
  accept: "application/json" | "text/event-stream",
  signal: AbortSignal,
  accessToken?: string,
): Promise<Response> {
  return fetch(ENDPOINT, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: accept,
      ...(accessToken !== undefined && { Authorization: `Bearer ${accessToken}` }),
    },
    body: JSON.stringify({ query, variables }),
    signal,
    cache: "no-store",
  });
}
