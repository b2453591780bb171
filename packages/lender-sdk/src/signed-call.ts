import { HEADERS, sign, type SigningKey, signingKey, TIMESTAMP_TOLERANCE_MS } from "@collections/signing";
import { CollectionsError, NoAnswerError } from "./call-error.ts";
import { readAnswer, type ServiceAnswer } from "./service-answer.ts";
import { DEFAULT_PAUSES, pauseAfter, type RetryPauses } from "./retry-pause.ts";

/** Well before it is too old for the service, whose clock may be minutes off. */
export const SIGNATURE_MAX_AGE_MS = TIMESTAMP_TOLERANCE_MS / 2;

/** How long an attempt, and a call with all its attempts, may take unless told. */
export const DEFAULT_TIMES = { attemptTimeoutMs: 15_000, totalTimeoutMs: 60_000 } as const;

/** What may be said about one call. */
export interface CallOptions {
  /** Ends the call, between attempts too; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** How long one attempt may take, the whole answer included. */
  readonly attemptTimeoutMs?: number;
  /** How long all attempts and the pauses between them may take. */
  readonly totalTimeoutMs?: number;
}

/** An attempt failed and will be repeated after `pauseMs`. */
export interface Retry {
  readonly method: string;
  readonly path: string;
  /** The one that failed; the first is 1. */
  readonly attempt: number;
  readonly pauseMs: number;
  readonly error: CollectionsError;
}

/** What the caller needs to know of the service and of itself. */
export interface CallerOptions {
  /** From the operator: scheme, host and, behind a proxy with one, a path prefix. */
  readonly baseUrl: string;
  /** `lk_…` */
  readonly apiKeyId: string;
  /** `sk_…`, whole and as it was handed over. */
  readonly hmacSecret: string;
  readonly attemptTimeoutMs?: number;
  readonly totalTimeoutMs?: number;
  readonly pauses?: RetryPauses;
  /** For logs: called before each repeat. */
  readonly onRetry?: (retry: Retry) => void;
  /** In place of the global fetch. */
  readonly fetch?: typeof fetch;
  /** Unix milliseconds, in place of the machine's clock. */
  readonly now?: () => number;
}

/** A request whose bytes are final. `path` is percent-encoded and may have a query. */
export interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default true. */
  readonly isSigned?: boolean;
}

/** Signs and sends calls, and repeats those that may succeed later. */
export class SignedCaller {
  readonly #base: URL;
  readonly #prefix: string;
  readonly #key: SigningKey;
  readonly #options: CallerOptions;

  /** Throws TypeError for a base URL or key id that cannot be one, EmptySecretError for no secret. */
  constructor(options: CallerOptions) {
    this.#base = baseOf(options.baseUrl);
    this.#prefix = this.#base.pathname.replace(/\/+$/, "");
    if (!/^[\x21-\x7e]+$/.test(options.apiKeyId)) throw new TypeError("apiKeyId is the text lk_… from the operator.");
    this.#key = signingKey(options.hmacSecret);
    this.#options = options;
  }

  /**
   * Sends the same bytes to the same path, signature included, until there is an answer that repeating would not change, or time is up.
   * Throws a CollectionsError, or the reason of `signal`.
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
        // A redirect goes to a path that was not signed.
        redirect: "manual",
        signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
      });
      return readAnswer(response, await response.text(), this.#nowMs());
    } catch (error) {
      if (error instanceof CollectionsError) throw error;
      options.signal?.throwIfAborted();
      const why = timeout.aborted ? `within ${Math.round(timeoutMs)} ms` : `(${reasonOf(error)})`;
      throw new NoAnswerError(`${call.method} ${call.path}: no whole answer ${why}.`, { cause: error });
    }
  }

  #urlOf({ path }: Call): URL {
    const url = new URL(this.#prefix + path, this.#base);
    if (url.pathname !== this.#signedPathOf(path)) {
      throw new TypeError(`HTTP clients rewrite the path ${path}, so it cannot be signed.`);
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
      // By its signature the service knows a repeat from a second call that says the same.
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
    throw new TypeError(`baseUrl is what the operator gave, such as https://collections.example; got "${baseUrl}".`);
  }
  return url;
}

/** fetch says "fetch failed", and what has happened in its cause. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  return cause instanceof Error && cause.message !== ""
    ? cause.message
    : String((cause as { code?: string }).code ?? cause);
}

function pause(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
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
