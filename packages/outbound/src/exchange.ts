import { type Dispatcher, errors } from "undici";
import { CappedBody } from "./capped-body.ts";
import { BodyDecoder, type ContentCoding, contentCodingOf } from "./content-coding.ts";
import { explainFailure } from "./failure.ts";
import type { FailureCause } from "./failure-reason.ts";

/**
 * The result of a request. `answer`: a status line arrived in time, with a complete or incomplete body. `failure`: no status
 * line arrived.
 */
export type OutboundAnswer =
  | {
      kind: "answer";
      status: number;
      /** The headers by name in lower case. Values of repeated headers are joined by ", ". */
      headers: Record<string, string>;
      /**
       * The decoded body, at most `maxBodyBytes`. gzip, deflate and br are decoded, although no request asks for them.
       * Empty for another coding.
       */
      body: Buffer;
      /**
       * The reason why the body is incomplete, or false. `unknown_coding`: `contentCoding` is not decoded.
       * `invalid_coding`: the body is not valid in `contentCoding`.
       */
      bodyCut: false | "too_large" | "deadline" | "broken" | "unknown_coding" | "invalid_coding";
      /** The Content-Encoding of the body in lower case, if it has one. */
      contentCoding?: string;
      durationMs: number;
    }
  | OutboundFailure;

/**
 * The reason why a request has no answer. `ownFault` is true if this process, its machine or its network caused the
 * failure. Such a failure does not count against the server. `describeFailure` turns the failure into a sentence.
 */
export type OutboundFailure = FailureCause & {
  kind: "failure";
  /** False if the request cannot have reached the server. */
  requestSent: boolean;
  durationMs: number;
};

export type ExchangeLimits = { timeoutMs: number; maxBodyBytes: number; signal: AbortSignal | undefined };

type BodyCut = Extract<OutboundAnswer, { kind: "answer" }>["bodyCut"];

/**
 * Sends a request once and collects the answer. Stops when the answer is complete, broken or too large, or too late.
 */
export function exchange(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions, limits: ExchangeLimits) {
  return new Promise<OutboundAnswer>((settle, reject) => {
    const handler = new Exchange(limits, settle, reject);
    if (!handler.isOver) dispatcher.dispatch(request, handler);
  });
}

/** The error that undici's `abort` requires as its reason. Nothing reads this error. */
const ENDED_BY_US = new errors.RequestAbortedError("The exchange is over");

class Exchange implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits;
  readonly #settle: (answer: OutboundAnswer) => void;
  readonly #reject: (error: Error) => void;
  readonly #startedAt = performance.now();
  readonly #deadline: NodeJS.Timeout;
  readonly #body: CappedBody;
  #controller: Dispatcher.DispatchController | undefined;
  #head: { status: number; headers: Record<string, string>; contentCoding?: string } | undefined;
  #coding: ContentCoding | undefined;
  #decoder: BodyDecoder | undefined;
  #encodedBytes = 0;
  /** Set when the connection has ended, or has brought the whole body. Decoding may take longer. */
  #received: "complete" | "broken" | undefined;
  isOver = false;

  constructor(limits: ExchangeLimits, settle: (answer: OutboundAnswer) => void, reject: (error: Error) => void) {
    this.#limits = limits;
    this.#settle = settle;
    this.#reject = reject;
    this.#body = new CappedBody(limits.maxBodyBytes);
    this.#deadline = setTimeout(this.#onDeadline, limits.timeoutMs);
    limits.signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (limits.signal?.aborted === true) this.#onAbort();
  }

  /**
   * Called right before the request is written. Aborts the request if its exchange is already over, for example after a
   * timeout.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.isOver) controller.abort(ENDED_BY_US);
    else this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    const joined = joinHeaders(headers);
    this.#coding = contentCodingOf(joined["content-encoding"]);
    this.#head = { status, headers: joined, ...(this.#coding && { contentCoding: this.#coding.name }) };
    if (this.#coding?.isKnown === true) this.#decoder = this.#openDecoder(this.#coding.name);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return;
    if (this.#coding === undefined) return this.#keep(chunk);
    this.#encodedBytes += chunk.length;
    // A valid body is hardly longer with its coding than without. A longer one would fill the memory of the decoder.
    if (this.#encodedBytes > maxEncodedBytes(this.#limits)) return this.#finish("too_large");
    this.#decoder?.write(chunk);
  }

  onResponseEnd(): void {
    if (this.isOver) return;
    this.#received = "complete";
    if (this.#decoder) this.#decoder.end();
    else this.#finish(this.#coding !== undefined && this.#encodedBytes > 0 ? "unknown_coding" : false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.isOver) return;
    if (isCallersBug(error)) return this.#end(() => this.#reject(error));
    if (this.#head === undefined) return this.#fail(explainFailure(error));
    this.#received = "broken";
    if (this.#decoder) this.#decoder.end();
    else this.#finish("broken");
  }

  #openDecoder(coding: string): BodyDecoder {
    const isBroken = () => this.#received === "broken";
    return new BodyDecoder(coding, {
      onData: (chunk) => this.#keep(chunk),
      onEnd: () => this.#finish(isBroken() ? "broken" : false),
      onInvalid: () => this.#finish(isBroken() ? "broken" : "invalid_coding"),
    });
  }

  #keep(chunk: Buffer): void {
    if (!this.isOver && !this.#body.add(chunk)) this.#finish("too_large");
  }

  readonly #onDeadline = (): void => {
    if (this.#head !== undefined) return this.#finish("deadline");
    const reason = this.#controller === undefined ? "NO_CONNECTION_IN_TIME" : "NO_ANSWER_IN_TIME";
    this.#fail({ code: "TIMEOUT", reason, timeoutMs: this.#limits.timeoutMs, ownFault: false });
  };

  readonly #onAbort = (): void => {
    if (this.#head !== undefined) return this.#finish("broken");
    this.#fail({ code: "ABORTED", reason: "ABORTED_BY_CALLER", ownFault: true });
  };

  #finish(bodyCut: BodyCut): void {
    const head = this.#head;
    if (head === undefined) throw new Error("The end of an answer was reported before its status line.");
    this.#end((durationMs) => {
      const answer = { kind: "answer" as const, ...head, body: this.#body.bytes(), bodyCut, durationMs };
      if (this.#received === "complete") onceConnectionIsFree(() => this.#settle(answer));
      else this.#settle(answer);
    });
  }

  #fail(cause: FailureCause): void {
    const requestSent = this.#controller !== undefined;
    this.#end((durationMs) => this.#settle({ kind: "failure", ...cause, requestSent, durationMs }));
  }

  #end(report: (durationMs: number) => void): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.#deadline);
    this.#decoder?.destroy();
    this.#limits.signal?.removeEventListener("abort", this.#onAbort);
    report(Math.round(performance.now() - this.#startedAt));
    // After a complete answer, the abort has no effect, and the connection stays open for the next request.
    this.#controller?.abort(ENDED_BY_US);
  }
}

function maxEncodedBytes({ maxBodyBytes }: ExchangeLimits): number {
  return Math.ceil(maxBodyBytes * 1.01) + 1_024;
}

function isCallersBug(error: Error): boolean {
  return error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError;
}

/**
 * Calls `report` when undici can reuse the connection: one turn of the event loop after the end of the answer. A caller
 * that sent its next request earlier would open a second connection.
 */
function onceConnectionIsFree(report: () => void): void {
  queueMicrotask(() => setImmediate(report));
}

function joinHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  // Most answers have no repeated headers. Their headers are not copied, because copying costs as much as parsing.
  if (Object.values(headers).every((value) => typeof value === "string")) return headers as Record<string, string>;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")]),
  );
}
