import { setTimeout as pause } from "node:timers/promises";
import { confirmPath, type Answer, type LenderClient } from "./client.ts";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/** The service gave no final answer to a confirmation for as long as we kept asking. */
export class ConfirmationUnansweredError extends Error {
  readonly code = "CONFIRMATION_UNANSWERED";
  readonly attempts: number;

  constructor(loan: string, attempts: number, last: string) {
    super(`The confirmation for loan ${loan} got no final answer in ${attempts} attempts. The last one: ${last}.`);
    this.name = "ConfirmationUnansweredError";
    this.attempts = attempts;
  }
}

/** Confirms a capture until it is known to be booked or refused: the same bytes again after a lost connection, a 5xx
 * or an answer that says `retryable`. A real lender never gives up, it goes on after a restart too.
 * @param body the serialised confirmation
 * @param options.signal stops the asking, for example when the lender shuts down
 */
export async function confirmUntilAnswered(
  client: LenderClient,
  loan: string,
  body: string,
  options: { giveUpAfterMs: number; signal: AbortSignal },
): Promise<{ answer: Answer; attempts: number }> {
  const startedAt = performance.now();
  let last = "none was made";
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

/** True when the payment is in the books: now, or by an earlier attempt whose answer was lost. */
export function isBooked({ status, body }: Answer): boolean {
  return status === 200 || (status === 409 && body["code"] === "DUPLICATE_CONFIRMATION");
}

function isWorthRetrying({ status, body }: Answer): boolean {
  return status >= 500 || body["retryable"] === true;
}
