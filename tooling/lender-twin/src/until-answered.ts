import { setTimeout as pause } from "node:timers/promises";
import { confirmPath, RECONCILE_PATH, reversePath, type Answer, type LenderClient } from "./client.ts";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/** The service gave no final answer to a call within the time limit. */
export class NoFinalAnswerError extends Error {
  readonly code = "NO_FINAL_ANSWER";
  readonly attempts: number;

  constructor(path: string, attempts: number, last: string) {
    super(`POST ${path} got no final answer in ${attempts} attempts. Last answer: ${last}.`);
    this.name = "NoFinalAnswerError";
    this.attempts = attempts;
  }
}

/** How long a call is repeated. */
export interface Patience {
  giveUpAfterMs: number;
  /** Stops the attempts, for example when the lender shuts down. */
  signal: AbortSignal;
}

/**
 * Sends the confirmation of a capture until the service has booked or rejected it. A real lender never gives up, and
 * continues after a restart.
 * @param body the serialised confirmation: every attempt sends these bytes
 */
export function confirmUntilAnswered(
  client: LenderClient,
  loan: string,
  body: string,
  patience: Patience,
): Promise<{ answer: Answer; attempts: number }> {
  return postUntilAnswered(client, confirmPath(loan), body, patience);
}

/**
 * Sends the reversal of a payment until the service has recorded or rejected it.
 * @param body the serialised reversal: every attempt sends these bytes
 */
export function reverseUntilAnswered(
  client: LenderClient,
  loan: string,
  body: string,
  patience: Patience,
): Promise<{ answer: Answer; attempts: number }> {
  return postUntilAnswered(client, reversePath(loan), body, patience);
}

/**
 * Sends a reconciliation until the service has compared or rejected it. A call beside a running one is answered 429.
 * @param body the serialised request: every attempt sends these bytes
 */
export function reconcileUntilAnswered(
  client: LenderClient,
  body: string,
  patience: Patience,
): Promise<{ answer: Answer; attempts: number }> {
  return postUntilAnswered(client, RECONCILE_PATH, body, patience);
}

/** True if the payment is booked: by this attempt, or by an earlier one whose answer was lost. */
export function isBooked({ status, body }: Answer): boolean {
  return status === 200 || (status === 409 && body["code"] === "DUPLICATE_CONFIRMATION");
}

/** True if the reversal is recorded: by this attempt, or by an earlier one whose answer was lost. */
export function isReversed({ status, body }: Answer): boolean {
  return status === 200 || (status === 409 && body["code"] === "DUPLICATE_REVERSAL");
}

/** Repeats the same bytes after a lost connection, a 5xx or an answer with `retryable`. */
async function postUntilAnswered(
  client: LenderClient,
  path: string,
  body: string,
  { giveUpAfterMs, signal }: Patience,
): Promise<{ answer: Answer; attempts: number }> {
  const startedAt = performance.now();
  let last = "none";
  for (let attempts = 1; ; attempts++) {
    let askedToWaitMs = 0;
    try {
      const answer = await client.call("POST", path, body);
      if (!isWorthRetrying(answer)) return { answer, attempts };
      last = `HTTP ${answer.status} ${answer.rawBody.slice(0, 200)}`;
      askedToWaitMs = Number(answer.headers["retry-after"] ?? 0) * 1000;
    } catch (error) {
      last = String(error);
    }
    const pauseMs = Math.max(askedToWaitMs, Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS));
    if (signal.aborted || performance.now() - startedAt + pauseMs > giveUpAfterMs) {
      throw new NoFinalAnswerError(path, attempts, last);
    }
    await pause(pauseMs, undefined, { signal }).catch(() => {});
  }
}

function isWorthRetrying({ status, body }: Answer): boolean {
  return status >= 500 || body["retryable"] === true;
}
