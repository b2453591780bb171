/** Why a mail was not sent, in a word. `REFUSED`: the server said no, or the mail cannot be one. */
export type MailFault = "NOT_CONFIGURED" | "REFUSED" | "UNREACHABLE" | "TIMEOUT";

/**
 * The mail server did not confirm that it took the mail. `detail` is one sentence without addresses or passwords.
 *
 * @example
 * try {
 *   await mailer.send({ to: "asha@lender.example", subject, text, messageId: `alert:${alertId}` });
 * } catch (error) {
 *   if (!(error instanceof MailNotSentError) || error.retryable) throw error;
 *   console.error(`The alert ${alertId} is given up: ${error.detail}`);
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

/** Puts an error of the SMTP client into one of our codes. The server's own words are left out: they quote addresses. */
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
    return new MailNotSentError("REFUSED", false, `The mail server cannot take this mail (${code}).`);
  }
  if (code === "ETLS" || /CERT|ERR_SSL|ERR_TLS|EPROTO|UNABLE_TO/.test(originalCode)) {
    return new MailNotSentError("UNREACHABLE", true, "No secure connection with the mail server could be agreed.");
  }
  return new MailNotSentError("UNREACHABLE", true, `The mail server could not be reached (${originalCode || code}).`);
}

/** `code` is the client's own, `originalCode` the system's beneath it (`ECONNREFUSED`), `response` the server's words. */
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

/** The numbers at the start of a reply: `550 5.1.1`. */
function statusOf(response: string): string {
  return /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3})?/.exec(response)?.[0].replace("-", " ") ?? "no status";
}
