import { setTimeout as pause } from "node:timers/promises";
import { confirmPath, type Answer, type LenderClient } from "./client.ts";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/** The service gave no final answer to a confirmation within the time limit. */
export class ConfirmationUnansweredError extends Error {
  readonly code = "CONFIRMATION_UNANSWERED";
  readonly attempts: number;

  constructor(loan: string, attempts: number, last: string) {
    super(`The confirmation for loan ${loan} got no final answer in ${attempts} attempts. Last answer: ${last}.`);
    this.name = "ConfirmationUnansweredError";
    this.attempts = attempts;
  }
}

/**
 * Sends the confirmation of a capture until the service has booked or rejected it. Repeats the same bytes after a lost
 * connection, a 5xx or an answer with `retryable`. A real lender never gives up, and continues after a restart.
 * @param body the serialised confirmation
 * @param options.signal stops the attempts, for example when the lender shuts down
 */
export async function confirmUntilAnswered(
  client: LenderClient,
  loan: string,
  body: string,
  options: { giveUpAfterMs: number; signal: AbortSignal },
): Promise<{ answer: Answer; attempts: number }> {
  const startedAt = performance.now();
  let last = "none";
  for (let attempts = 1; ; attempts++) {
    let askedToWaitMs = 0;
    try {
      const answer = await client.call("POST", confirmPath(loan), body);
      if (!isWorthRetrying(answer)) return { answer, attempts };
      last = `HTTP ${answer.status} ${answer.rawBody.slice(0, 200)}`;
      askedToWaitMs = Number(answer.headers["retry-after"] ?? 0) * 1000;
    } catch (error) {
      last = String(error);
    }
    const pauseMs = Math.max(askedToWaitMs, Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS));
    if (options.signal.aborted || performance.now() - startedAt + pauseMs > options.giveUpAfterMs) {
      throw new ConfirmationUnansweredError(loan, attempts, last);
    }
    await pause(pauseMs, undefined, { signal: options.signal }).catch(() => {});
  }
}

/** True if the payment is booked: by this attempt, or by an earlier one whose answer was lost. */
export function isBooked({ status, body }: Answer): boolean {
  return status === 200 || (status === 409 && body["code"] === "DUPLICATE_CONFIRMATION");
}

function isWorthRetrying({ status, body }: Answer): boolean {
  return status >= 500 || body["retryable"] === true;
}
