import { HEADERS, sign, type SigningKey, signingKey, TIMESTAMP_TOLERANCE_MS } from "@collections/signing";
import { CollectionsError, NoAnswerError } from "./call-error.ts";
import { readAnswer, type ServiceAnswer } from "./service-answer.ts";
import { DEFAULT_PAUSES, pauseAfter, type RetryPauses } from "./retry-pause.ts";

/**
 * The maximum age of a signature that is used again. It is half of the age that the service accepts, because the clocks
 * of the client and the service may differ by minutes.
 */
export const SIGNATURE_MAX_AGE_MS = TIMESTAMP_TOLERANCE_MS / 2;

/** The default time limits of an attempt, and of a call with all its attempts. */
export const DEFAULT_TIMES = { attemptTimeoutMs: 15_000, totalTimeoutMs: 60_000 } as const;

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call, also between attempts. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The time limit of one attempt, until the end of its answer. */
  readonly attemptTimeoutMs?: number;
  /** The time limit of all attempts together, including the pauses. */
  readonly totalTimeoutMs?: number;
}

/** A failed attempt, which is repeated after `pauseMs`. */
export interface Retry {
  readonly method: string;
  readonly path: string;
  /** The number of the attempt that failed, from 1. */
  readonly attempt: number;
  readonly pauseMs: number;
  readonly error: CollectionsError;
}

/** Options of a `SignedCaller`. */
export interface CallerOptions {
  /** The URL from the operator: scheme, host and, if there is one, a path prefix. */
  readonly baseUrl: string;
  /** `lk_…` */
  readonly apiKeyId: string;
  /** `sk_…`, complete and exactly as you received it. */
  readonly hmacSecret: string;
  readonly attemptTimeoutMs?: number;
  readonly totalTimeoutMs?: number;
  readonly pauses?: RetryPauses;
  /** Called before each retry; use it for logs. */
  readonly onRetry?: (retry: Retry) => void;
  /** The function that sends requests, instead of the global fetch. */
  readonly fetch?: typeof fetch;
  /** The current time in Unix milliseconds. Default: Date.now. */
  readonly now?: () => number;
}

/** A request with its final bytes. `path` is percent-encoded and may have a query. */
export interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default true. */
  readonly isSigned?: boolean;
}

/** Signs calls, sends them, and retries the calls that may succeed later. */
export class SignedCaller {
  readonly #base: URL;
  readonly #prefix: string;
  readonly #key: SigningKey;
  readonly #options: CallerOptions;

  /** Throws TypeError for an invalid base URL or key id, and EmptySecretError for an empty secret. */
  constructor(options: CallerOptions) {
    this.#base = baseOf(options.baseUrl);
    this.#prefix = this.#base.pathname.replace(/\/+$/, "");
    if (!/^[\x21-\x7e]+$/.test(options.apiKeyId))
      throw new TypeError("apiKeyId is invalid: expected the id lk_… from the operator, without spaces.");
    this.#key = signingKey(options.hmacSecret);
    this.#options = options;
  }

  /**
   * Sends the same bytes, including the signature, until a final answer arrives or the time is up. Throws a
   * CollectionsError, or the reason of `signal`.
   */
  async call(call: Call, options: CallOptions = {}): Promise<ServiceAnswer> {
    const { onRetry, pauses = DEFAULT_PAUSES } = this.#options;
    const endsAt =
      performance.now() + (options.totalTimeoutMs ?? this.#options.totalTimeoutMs ?? DEFAULT_TIMES.totalTimeoutMs);
    const headersOf = this.#signer(call);
    for (let attempt = 1; ; attempt += 1) {
      options.signal?.throwIfAborted();
      try {
        return await this.#attempt(call, headersOf(), options, endsAt - performance.now());
      } catch (error) {
        if (!(error instanceof CollectionsError) || !error.retryable) throw error;
        const pauseMs = pauseAfter(attempt, error.retryAfterMs, Math.random(), pauses);
        if (performance.now() + pauseMs >= endsAt) throw error;
        onRetry?.({ method: call.method, path: call.path, attempt, pauseMs, error });
        await pause(pauseMs, options.signal);
      }
    }
  }

  async #attempt(
    call: Call,
    headers: Record<string, string>,
    options: CallOptions,
    leftMs: number,
  ): Promise<ServiceAnswer> {
    const usualMs = options.attemptTimeoutMs ?? this.#options.attemptTimeoutMs ?? DEFAULT_TIMES.attemptTimeoutMs;
    const timeoutMs = Math.max(1, Math.min(usualMs, leftMs));
    const timeout = AbortSignal.timeout(Math.ceil(timeoutMs));
    const { fetch: send = fetch } = this.#options;
    const [url, checkedHeaders] = [this.#urlOf(call), new Headers(headers)];
    try {
      const response = await send(url, {
        method: call.method,
        headers: checkedHeaders,
        ...(call.body !== undefined && { body: call.body }),
        // Does not follow redirects, because the path of a redirect would differ from the signed path.
        redirect: "manual",
        signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
      });
      return readAnswer(response, await response.text(), this.#nowMs());
    } catch (error) {
      if (error instanceof CollectionsError) throw error;
      options.signal?.throwIfAborted();
      const reason = timeout.aborted ? `within ${Math.round(timeoutMs)} ms` : `(${reasonOf(error)})`;
      throw new NoAnswerError(`${call.method} ${call.path}: no complete answer ${reason}.`, { cause: error });
    }
  }

  #urlOf({ path }: Call): URL {
    const url = new URL(this.#prefix + path, this.#base);
    if (url.pathname !== this.#signedPathOf(path)) {
      throw new TypeError(`The path ${path} cannot be signed, because HTTP clients rewrite it to ${url.pathname}.`);
    }
    return url;
  }

  #signedPathOf(path: string): string {
    return this.#prefix + path.split("?", 1)[0];
  }

  #signer(call: Call): () => Record<string, string> {
    const { apiKeyId } = this.#options;
    const plain = {
      Accept: "application/json",
      Authorization: `Bearer ${apiKeyId}`,
      ...(call.body !== undefined && { "Content-Type": "application/json" }),
      ...call.headers,
    };
    if (call.isSigned === false) return () => plain;
    let signedAtMs = 0;
    let signed: Record<string, string> = plain;
    return () => {
      const nowMs = this.#nowMs();
      // Reuses the signature. The service recognizes a retry by its signature, and treats a call with a new signature
      // as another call.
      if (Math.abs(nowMs - signedAtMs) < SIGNATURE_MAX_AGE_MS) return signed;
      signedAtMs = nowMs;
      const timestamp = String(nowMs);
      const request = { method: call.method, path: this.#signedPathOf(call.path), timestamp, body: call.body ?? "" };
      signed = {
        ...plain,
        [HEADERS.timestamp]: timestamp,
        [HEADERS.signature]: sign({ secret: this.#key, ...request }),
      };
      return signed;
    };
  }

  #nowMs(): number {
    return (this.#options.now ?? Date.now)();
  }
}

function baseOf(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw new TypeError(
      `baseUrl "${baseUrl}" is invalid: expected a URL from the operator, such as https://collections.example.`,
    );
  }
  return url;
}

/** Returns the message of the error's cause, because fetch itself only says "fetch failed". */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  return cause instanceof Error && cause.message !== ""
    ? cause.message
    : String((cause as { code?: string }).code ?? cause);
}

/** Waits. If `signal` aborts, rejects with the reason of the signal. */
export function pause(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(finish, pauseMs);
    signal?.addEventListener("abort", finish, { once: true });
    if (signal?.aborted === true) finish();
    function finish(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      if (signal?.aborted === true) reject(signal.reason as Error);
      else resolve();
    }
  });
}
