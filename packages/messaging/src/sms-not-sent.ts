import { describeFailure, type OutboundAnswer } from "@collections/outbound";

/** The reason why an SMS was not sent. `OUTCOME_UNKNOWN`: it may have been sent. */
export type SmsFault = "REFUSED" | "RATE_LIMITED" | "TEMPORARY" | "UNREACHABLE" | "OUTCOME_UNKNOWN";

/**
 * Thrown if the SMS gateway did not confirm the message. `detail` is one sentence without phone numbers, message texts
 * or the gateway's text.
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
  /** Whether the same message may be sent again later, without the risk of sending it twice. */
  readonly retryable: boolean;
  readonly detail: string;
  /** The HTTP status, if there was an answer. */
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

/** Converts a failed request to the SMS gateway, or an answer other than 2xx, to an error. */
export function explainSmsAnswer(answer: OutboundAnswer): SmsNotSentError {
  if (answer.kind === "failure") {
    if (answer.requestSent) {
      return new SmsNotSentError(
        "OUTCOME_UNKNOWN",
        false,
        `The SMS gateway may have received the message: ${describeFailure(answer)}`,
      );
    }
    const mayPass = answer.code !== "BLOCKED_ADDRESS";
    return new SmsNotSentError(
      "UNREACHABLE",
      mayPass,
      `The SMS gateway could not be reached: ${describeFailure(answer)}`,
    );
  }
  const { status } = answer;
  if (status === 429)
    return new SmsNotSentError("RATE_LIMITED", true, "The SMS gateway's rate limit is reached.", status);
  if (status >= 500) {
    return new SmsNotSentError("TEMPORARY", true, `The SMS gateway has a temporary error (HTTP ${status}).`, status);
  }
  return new SmsNotSentError("REFUSED", false, `The SMS gateway refuses the message (HTTP ${status}).`, status);
}
