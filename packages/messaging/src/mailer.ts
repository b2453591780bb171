import assert from "node:assert/strict";
import { explainSmtpError, MailNotSentError } from "./mail-not-sent.ts";

const DEFAULT_TIMEOUT_MS = 10_000;
/**
 * The time limit of a whole send, in multiples of `timeoutMs`. It ends a send to a server that sends single bytes, each
 * within `timeoutMs`, and never finishes.
 */
const SEND_TIMEOUTS = 3;
const MAX_ADDRESS_CHARS = 254;
const MAX_MESSAGE_KEY_CHARS = 128;

/** The mail server and the sender. */
export type MailerOptions = {
  /** `smtp://[user:password@]host:port` (STARTTLS when offered) or `smtps://…`. Undefined: e-mail is switched off. */
  smtpUrl: string | undefined;
  /** The sender, as `name@example.com` or `Name <name@example.com>`. */
  from: string;
  /** How long to wait for data from the mail server. A whole send takes at most three times as long. Default: 10,000. */
  timeoutMs?: number;
};

/** One mail. `to` has plain addresses without names. Line breaks in the subject become spaces. */
export type Mail = {
  to: string | string[];
  subject: string;
  text: string;
  html?: string;
  /** The caller's idempotency key. The Message-ID is derived from it, so that receivers recognise a repeated mail. */
  messageId?: string;
};

/** The result of a mail that the server accepted. */
export type SentMail = {
  /** The Message-ID header, with its angle brackets. */
  messageId: string;
  /** The recipients that the server rejected, if it accepted others. */
  refused: string[];
};

/** Sends mail through one SMTP server, with one connection for each message. */
export type Mailer = {
  /**
   * Resolves when the server has accepted the mail for at least one recipient. Otherwise throws `MailNotSentError`.
   * After `TIMEOUT` or `UNREACHABLE` the mail may have been sent, so send it again with the same idempotency key.
   */
  send(mail: Mail): Promise<SentMail>;
  /** Rejects new mail and waits for the running sends. Aborts the sends that are still running after `graceMs`. */
  close(options?: { graceMs?: number }): Promise<void>;
};

/**
 * Thrown if the SMTP URL or the sender is invalid. The message never contains the URL, because it has a password.
 *
 * @example
 * try {
 *   createMailer({ smtpUrl: process.env["SMTP_URL"], from: process.env["MAIL_FROM"] ?? "" });
 * } catch (error) {
 *   if (error instanceof InvalidMailerOptionsError) console.error(error.message);
 * }
 */
export class InvalidMailerOptionsError extends Error {
  readonly code = "INVALID_MAILER_OPTIONS";

  constructor(message: string) {
    super(message);
    this.name = "InvalidMailerOptionsError";
  }
}

/**
 * Makes a mailer. It does not connect to the server yet. Throws `InvalidMailerOptionsError` for invalid options.
 *
 * @example
 * const mailer = createMailer({ smtpUrl: process.env["SMTP_URL"], from: "Collections <no-reply@lender.example>" });
 * const to = ["asha@lender.example", "ravi@lender.example"];
 * const { refused } = await mailer.send({ to, subject, text, messageId: `alert:${alertId}` });
 * await mailer.close({ graceMs: 5_000 });
 */
export function createMailer(options: MailerOptions): Mailer {
  const senderDomain = domainOf(options.from);
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const { smtpUrl } = options;
  if (smtpUrl !== undefined) checkSmtpUrl(smtpUrl);
  const running = new Set<Promise<SentMail>>();
  const abort = new AbortController();
  let isClosed = false;

  async function deliver(mail: Mail): Promise<SentMail> {
    if (smtpUrl === undefined)
      throw new MailNotSentError("NOT_CONFIGURED", false, "No mail server is configured; set the SMTP URL.");
    if (isClosed) throw new MailNotSentError("UNREACHABLE", true, "This process is shutting down.");
    const key = mail.messageId;
    const transport = await openTransport(smtpUrl, timeoutMs);
    const sent = await transport
      .sendMail({
        from: options.from,
        to: [mail.to].flat().map(toRecipient),
        subject: mail.subject.replaceAll(/\p{Cc}+/gu, " "),
        text: mail.text,
        ...(mail.html === undefined ? {} : { html: mail.html }),
        ...(key === undefined ? {} : { messageId: messageIdOf(key, senderDomain) }),
        headers: { "Auto-Submitted": "auto-generated" },
        disableFileAccess: true,
        disableUrlAccess: true,
        signal: AbortSignal.any([abort.signal, AbortSignal.timeout(SEND_TIMEOUTS * timeoutMs)]),
      })
      .catch((error: unknown) => {
        throw explainSmtpError(error);
      });
    return { messageId: sent.messageId, refused: sent.rejected.map(String) };
  }

  async function send(mail: Mail): Promise<SentMail> {
    const sending = deliver(mail);
    running.add(sending);
    return sending.finally(() => running.delete(sending));
  }

  async function close({ graceMs }: { graceMs?: number } = {}): Promise<void> {
    isClosed = true;
    const grace = graceMs === undefined ? undefined : setTimeout(() => abort.abort(), graceMs);
    await Promise.allSettled(running);
    clearTimeout(grace);
  }

  return { send, close };
}

function checkSmtpUrl(smtpUrl: string): void {
  const url = URL.parse(smtpUrl);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") {
    throw new InvalidMailerOptionsError("The SMTP URL must look like smtp://user:password@mail.example.com:587.");
  }
}

/**
 * Imports nodemailer for the first mail, not at the start. Most processes send no mail, and they start sooner without
 * nodemailer's 40 modules.
 */
async function openTransport(smtpUrl: string, timeoutMs: number) {
  const { createTransport } = await import("nodemailer");
  return createTransport({
    url: smtpUrl,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
  });
}

function domainOf(from: string): string {
  const domain = /^(?:[^\p{Cc}<>]*<[^\s<>@]+@([a-z0-9.-]+)>|[^\s<>@]+@([a-z0-9.-]+))$/iu.exec(from);
  if (domain === null) {
    throw new InvalidMailerOptionsError(`The sender "${from}" must look like Name <name@example.com>.`);
  }
  return domain[1] ?? domain[2] ?? "";
}

/** Returns the address as an object, so that no part of it can be parsed as a second recipient. */
function toRecipient(address: string): { name: string; address: string } {
  const isOneAddress = /^[^\s\p{Cc}<>()[\]\\,;:"@]+@[^\s\p{Cc}<>()[\]\\,;:"@]+$/u.test(address);
  if (!isOneAddress || address.length > MAX_ADDRESS_CHARS) {
    throw new MailNotSentError("REFUSED", false, "A recipient is not a plain e-mail address.");
  }
  return { name: "", address };
}

/**
 * Returns the Message-ID for an idempotency key. Escapes all characters except letters, digits, - and _ as `%` and
 * their bytes in hex, so that different keys get different ids.
 */
function messageIdOf(key: string, senderDomain: string): string {
  assert.ok(key !== "" && key.length <= MAX_MESSAGE_KEY_CHARS, "messageId must have 1 to 128 characters");
  const local = key.replaceAll(/[^A-Za-z0-9_-]/gu, (character) =>
    Buffer.from(character).toString("hex").replaceAll(/../g, "%$&"),
  );
  return `<${local}@${senderDomain}>`;
}
