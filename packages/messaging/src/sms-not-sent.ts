import type { OutboundAnswer } from "@collections/outbound";

/** Why a text message was not sent, or may have been (`OUTCOME_UNKNOWN`), in a word. */
export type SmsFault = "REFUSED" | "RATE_LIMITED" | "TEMPORARY" | "UNREACHABLE" | "OUTCOME_UNKNOWN";

/**
 * The SMS gateway did not confirm the message. `detail` is one sentence without numbers, texts or its own words.
 *
 * @example
 * try {
 *   await sms.send({ to: "+919800000001", text, key: `code:${alertId}` });
 * } catch (error) {
 *   if (error instanceof SmsNotSentError && error.retryable) await sendLater();
 *   else throw error;
 * }
 */
export class SmsNotSentError extends Error {
  readonly code: SmsFault;
  /** Whether sending the same message again later may help and cannot send it twice. */
  readonly retryable: boolean;
  readonly detail: string;
  /** The HTTP status, when there was an answer. */
  readonly status: number | undefined;

  constructor(code: SmsFault, retryable: boolean, detail: string, status?: number) {
    super(detail);
    this.name = "SmsNotSentError";
    this.code = code;
    this.retryable = retryable;
    this.detail = detail;
    this.status = status;
  }
}

/** What an answer other than 2xx means, or none. */
export function explainSmsAnswer(answer: OutboundAnswer): SmsNotSentError {
  if (answer.kind === "failure") {
    if (answer.requestSent) {
      return new SmsNotSentError("OUTCOME_UNKNOWN", false, `The SMS gateway may have the message: ${answer.detail}`);
    }
    const mayPass = answer.code !== "BLOCKED_ADDRESS";
    return new SmsNotSentError("UNREACHABLE", mayPass, `The SMS gateway could not be reached: ${answer.detail}`);
  }
  const { status } = answer;
  if (status === 429) return new SmsNotSentError("RATE_LIMITED", true, "The SMS gateway's limit is reached.", status);
  if (status >= 500) {
    return new SmsNotSentError("TEMPORARY", true, `The SMS gateway has a passing fault (HTTP ${status}).`, status);
  }
  return new SmsNotSentError("REFUSED", false, `The SMS gateway refuses the message (HTTP ${status}).`, status);
}
