import type { Warning } from "./answer.ts";

/**
 * Thrown if a call did not succeed. If `retryable` is true, the same call may succeed later, and repeating it is safe.
 *
 * @example
 * try {
 *   await client.confirmPayment("LN-1001", payment);
 * } catch (error) {
 *   if (!(error instanceof CollectionsError) || !error.retryable) throw error;
 *   await confirmLater("LN-1001", payment, error.retryAfterMs ?? 60_000);
 * }
 */
export abstract class CollectionsError extends Error {
  abstract readonly code: string;
  abstract readonly retryable: boolean;
  /** The service's id of the request; give it to the operator. Undefined if no answer arrived. */
  readonly requestId: string | undefined;
  /** How long the service asked to wait before the next attempt. Undefined if it did not ask. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, about: { requestId?: string; retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause });
    this.requestId = about.requestId;
    this.retryAfterMs = about.retryAfterMs;
  }
}

/** One invalid field: an RFC 6901 pointer to it, and how to correct it. */
export interface FieldFault {
  readonly code: string;
  readonly pointer: string;
  readonly detail: string;
}

/** The body of an error answer (RFC 9457). contract: Errors */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly requestId: string;
  readonly retryable: boolean;
  readonly errors?: readonly FieldFault[];
  readonly warnings?: readonly Warning[];
  readonly [member: string]: unknown;
}

/**
 * Thrown if the service answered with an error. `code` is an error code of the contract. contract: Errors
 *
 * @example
 * const snapshot = await client.getCase("LN-1001").catch((error: unknown) => {
 *   if (error instanceof ProblemError && error.code === "LOAN_NOT_FOUND") return undefined;
 *   throw error;
 * });
 */
export class ProblemError extends CollectionsError {
  override readonly name: string = "ProblemError";
  readonly code: string;
  readonly retryable: boolean;
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly FieldFault[];
  readonly warnings: readonly Warning[];
  /** The whole answer, with the fields that only some codes have. */
  readonly problem: Problem;

  constructor(problem: Problem, retryAfterMs?: number) {
    const faults = (problem.errors ?? []).map(({ pointer, detail }) => `\n  ${pointer}: ${detail}`).join("");
    super(`${problem.code} (${problem.status}): ${problem.detail}${faults}`, {
      requestId: problem.requestId,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
    this.code = problem.code;
    this.retryable = problem.retryable;
    this.status = problem.status;
    this.detail = problem.detail;
    this.errors = problem.errors ?? [];
    this.warnings = problem.warnings ?? [];
    this.problem = problem;
  }
}

/**
 * Thrown if no complete answer arrived in time: it is unknown whether the service has processed the request. You may
 * confirm a payment again with the same arguments: it is booked once. Calling an import again creates a second import.
 *
 * @example
 * await client.confirmPayment("LN-1001", payment).catch(async (error: unknown) => {
 *   if (!(error instanceof NoAnswerError)) throw error;
 *   await confirmLater("LN-1001", payment, 60_000);
 * });
 */
export class NoAnswerError extends CollectionsError {
  override readonly name = "NoAnswerError";
  readonly code = "NO_ANSWER";
  readonly retryable = true;
}

/**
 * Thrown if the answer did not come from the service: it is from a proxy, a redirect or another server.
 *
 * @example
 * await client.health().catch((error: unknown) => {
 *   if (error instanceof UnexpectedAnswerError) console.error(`Is baseUrl right? ${error.message}`);
 *   throw error;
 * });
 */
export class UnexpectedAnswerError extends CollectionsError {
  override readonly name = "UnexpectedAnswerError";
  readonly code = "UNEXPECTED_ANSWER";
  readonly retryable: boolean;
  readonly status: number;

  constructor(
    message: string,
    about: { status: number; retryable: boolean; requestId?: string; retryAfterMs?: number },
  ) {
    super(message, about);
    this.status = about.status;
    this.retryable = about.retryable;
  }
}
