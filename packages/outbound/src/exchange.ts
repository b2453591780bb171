import { type Agent, type Dispatcher, errors } from "undici";
import { CappedBody } from "./capped-body.ts";
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
      /** The body as it was sent, not decompressed, at most `maxBodyBytes`. */
      body: Buffer;
      /** The reason why the body is incomplete, or false. */
      bodyCut: false | "too_large" | "deadline" | "broken";
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
export function exchange(agent: Agent, request: Dispatcher.DispatchOptions, limits: ExchangeLimits) {
  return new Promise<OutboundAnswer>((settle, reject) => {
    const handler = new Exchange(limits, settle, reject);
    if (!handler.isOver) agent.dispatch(request, handler);
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
  #head: { status: number; headers: Record<string, string> } | undefined;
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
    if (status >= 200) this.#head = { status, headers: joinHeaders(headers) };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return;
    if (!this.#body.add(chunk)) this.#finish("too_large");
  }

  onResponseEnd(): void {
    this.#finish(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (isCallersBug(error)) this.#end(() => this.#reject(error));
    else if (this.#head !== undefined) this.#finish("broken");
    else this.#fail(explainFailure(error));
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
      if (bodyCut === false) onceConnectionIsFree(() => this.#settle(answer));
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
    this.#limits.signal?.removeEventListener("abort", this.#onAbort);
    report(Math.round(performance.now() - this.#startedAt));
    // After a complete answer, the abort has no effect, and the connection stays open for the next request.
    this.#controller?.abort(ENDED_BY_US);
  }
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
