/** The reason why a mail was not sent. `REFUSED`: the server rejected it, or it is not a valid mail. */
export type MailFault = "NOT_CONFIGURED" | "REFUSED" | "UNREACHABLE" | "TIMEOUT";

/**
 * Thrown if the mail server did not confirm that it accepted the mail. `detail` is one sentence without addresses or
 * passwords.
 *
 * @example
 * try {
 *   await mailer.send({ to: "asha@lender.example", subject, text, messageId: `alert:${alertId}` });
 * } catch (error) {
 *   if (!(error instanceof MailNotSentError) || error.retryable) throw error;
 *   console.error(`The alert ${alertId} cannot be sent: ${error.detail}`);
 * }
 */
export class MailNotSentError extends Error {
  readonly code: MailFault;
  /** Whether sending the same mail again later may help. */
  readonly retryable: boolean;
  readonly detail: string;

  constructor(code: MailFault, retryable: boolean, detail: string) {
    super(detail);
    this.name = "MailNotSentError";
    this.code = code;
    this.retryable = retryable;
    this.detail = detail;
  }
}

/** Converts an error of the SMTP client to one of our codes. The server's text is left out, because it contains addresses. */
export function explainSmtpError(error: unknown): MailNotSentError {
  if (error instanceof MailNotSentError) return error;
  const { code, originalCode, response, responseCode } = smtpFactsOf(error);
  if (code === "ETIMEDOUT" || code === "EABORT") {
    return new MailNotSentError("TIMEOUT", true, "The mail server did not answer in time.");
  }
  if (responseCode !== undefined && responseCode !== 421) {
    const isPermanent = responseCode >= 500 && responseCode !== 503;
    const step = code === "EAUTH" ? "the user name and password" : "the mail";
    return new MailNotSentError("REFUSED", !isPermanent, `The mail server refused ${step} (${statusOf(response)}).`);
  }
  if (code === "EAUTH" || code === "EENVELOPE" || code === "EMESSAGE") {
    return new MailNotSentError("REFUSED", false, `The mail server cannot accept this mail (${code}).`);
  }
  if (code === "ETLS" || /CERT|ERR_SSL|ERR_TLS|EPROTO|UNABLE_TO/.test(originalCode)) {
    return new MailNotSentError("UNREACHABLE", true, "No secure connection to the mail server could be established.");
  }
  return new MailNotSentError("UNREACHABLE", true, `The mail server could not be reached (${originalCode || code}).`);
}

/**
 * `code` is the SMTP client's error code, and `originalCode` is the operating system's, such as `ECONNREFUSED`.
 * `response` is the server's reply.
 */
type SmtpFacts = { code: string; originalCode: string; response: string; responseCode: number | undefined };

function smtpFactsOf(error: unknown): SmtpFacts {
  const facts: Partial<Record<keyof SmtpFacts, unknown>> = typeof error === "object" && error !== null ? error : {};
  return {
    code: typeof facts.code === "string" ? facts.code : "unknown",
    originalCode: typeof facts.originalCode === "string" ? facts.originalCode : "",
    response: typeof facts.response === "string" ? facts.response : "",
    responseCode: typeof facts.responseCode === "number" ? facts.responseCode : undefined,
  };
}

/** Returns the numbers at the start of a reply: `550 5.1.1`. */
function statusOf(response: string): string {
  return /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3})?/.exec(response)?.[0].replace("-", " ") ?? "no status";
}
