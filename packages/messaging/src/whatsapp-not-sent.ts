import { describeFailure, type OutboundFailure } from "@collections/outbound";

/** The reason why a message was not sent. `OUTCOME_UNKNOWN`: it may have been sent. */
export type WhatsAppFault =
  | "TOKEN_INVALID"
  | "NOT_PERMITTED"
  | "ACCOUNT_RESTRICTED"
  | "TEMPLATE_REFUSED"
  | "UNDELIVERABLE"
  | "RATE_LIMITED"
  | "INVALID_REQUEST"
  | "TEMPORARY"
  | "UNREACHABLE"
  | "OUTCOME_UNKNOWN";

/**
 * Thrown if Meta did not confirm the message. `detail` is one sentence without tokens, phone numbers or Meta's text.
 *
 * @example
 * try {
 *   await whatsApp.sendTemplate({ phoneNumberId: "106540352242922", accessToken, to: "+919800000001", template });
 * } catch (error) {
 *   if (error instanceof WhatsAppNotSentError && error.retryable) await sendLater();
 *   else throw error;
 * }
 */
export class WhatsAppNotSentError extends Error {
  readonly code: WhatsAppFault;
  /** Whether the same message may be sent again later, without the risk of sending it twice. */
  readonly retryable: boolean;
  readonly detail: string;
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined;

  constructor(code: WhatsAppFault, retryable: boolean, detail: string, status?: number) {
    super(detail);
    this.name = "WhatsAppNotSentError";
    this.code = code;
    this.retryable = retryable;
    this.detail = detail;
    this.status = status;
  }
}

/**
 * Converts a request that got no answer to an error. The error is retryable only if the request was not sent: the API
 * has no idempotency key, so a retry could send the message twice.
 */
export function explainFailure(failure: OutboundFailure): WhatsAppNotSentError {
  if (failure.requestSent) {
    return new WhatsAppNotSentError(
      "OUTCOME_UNKNOWN",
      false,
      `WhatsApp may have received the message: ${describeFailure(failure)}`,
    );
  }
  const mayPass = failure.code !== "BLOCKED_ADDRESS";
  return new WhatsAppNotSentError("UNREACHABLE", mayPass, `WhatsApp could not be reached: ${describeFailure(failure)}`);
}

/**
 * Converts an error answer to a WhatsAppNotSentError, by Meta's error code, or by the HTTP status if there is no code.
 * A 5xx without a code comes from a proxy, so Meta may have accepted the message.
 */
export function explainErrorAnswer(status: number, body: unknown): WhatsAppNotSentError {
  const errorCode = errorCodeOf(body);
  if (errorCode === undefined && status >= 500) {
    const detail = `WhatsApp may have received the message: the answer is HTTP ${status}, but not from WhatsApp itself.`;
    return new WhatsAppNotSentError("OUTCOME_UNKNOWN", false, detail, status);
  }
  const fault = (errorCode === undefined ? undefined : faultOfCode(errorCode)) ?? faultOfStatus(status);
  const number = errorCode === undefined ? `HTTP ${status}` : `code ${errorCode}, HTTP ${status}`;
  const retryable = fault === "RATE_LIMITED" || fault === "TEMPORARY";
  return new WhatsAppNotSentError(fault, retryable, `${WORDS[fault]} (${number}).`, status);
}

/** Explains the error code of a message that Meta accepted and then could not deliver. */
export function explainErrorCode(errorCode: number | undefined): { code: WhatsAppFault; detail: string } {
  const code = (errorCode === undefined ? undefined : faultOfCode(errorCode)) ?? "INVALID_REQUEST";
  return { code, detail: `${WORDS[code]} (${errorCode === undefined ? "no code" : `code ${errorCode}`}).` };
}

type AnswerFault = Exclude<WhatsAppFault, "UNREACHABLE" | "OUTCOME_UNKNOWN">;

const WORDS: Record<AnswerFault, string> = {
  TOKEN_INVALID: "WhatsApp does not accept the access token",
  NOT_PERMITTED: "The access token does not permit sending from this number",
  ACCOUNT_RESTRICTED: "WhatsApp has restricted the account, or its payment failed",
  TEMPLATE_REFUSED: "The template does not exist, is paused, or needs other parameters",
  UNDELIVERABLE: "WhatsApp does not deliver messages to this recipient",
  RATE_LIMITED: "WhatsApp's rate limit is reached",
  INVALID_REQUEST: "WhatsApp cannot accept this request",
  TEMPORARY: "WhatsApp has a temporary error",
};

/** Meta's published error codes, https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes. */
const FAULTS: Record<AnswerFault, number[]> = {
  TOKEN_INVALID: [0, 190],
  NOT_PERMITTED: [3, 10, 131_005, 200],
  ACCOUNT_RESTRICTED: [368, 130_497, 131_031, 131_042, 131_045, 133_010],
  TEMPLATE_REFUSED: [132_000, 132_001, 132_005, 132_007, 132_012, 132_015, 132_016, 132_068, 132_069],
  UNDELIVERABLE: [130_472, 131_021, 131_026, 131_030, 131_047, 131_049, 131_050],
  RATE_LIMITED: [4, 80_007, 130_429, 131_048, 131_056],
  INVALID_REQUEST: [33, 100, 131_008, 131_009, 131_051],
  TEMPORARY: [1, 2, 131_000, 131_016, 131_057, 133_004],
};

function faultOfCode(errorCode: number): AnswerFault | undefined {
  if (errorCode > 200 && errorCode <= 299) return "NOT_PERMITTED";
  const faults = Object.keys(FAULTS) as AnswerFault[];
  return faults.find((fault) => FAULTS[fault].includes(errorCode));
}

function faultOfStatus(status: number): AnswerFault {
  if (status === 401) return "TOKEN_INVALID";
  if (status === 403) return "NOT_PERMITTED";
  if (status === 429) return "RATE_LIMITED";
  return status >= 500 ? "TEMPORARY" : "INVALID_REQUEST";
}

function errorCodeOf(body: unknown): number | undefined {
  if (typeof body !== "object" || body === null || !("error" in body)) return undefined;
  const { error } = body;
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "number" ? error.code : undefined;
}
