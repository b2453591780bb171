import type { AddressInfo } from "node:net";
import PostalMime from "postal-mime";
import { SMTPServer, type SMTPServerDataStream } from "smtp-server";
import { WAIT_LIMIT_MS, Waiting } from "./waiting.ts";

/** How the server answers: accepts the mail, rejects every recipient permanently, or never answers to the data. */
export type MailBehaviour = "ok" | "reject" | "hang";

/** A mail that the server has accepted. The addresses are without display names; `text` and `html` are decoded. */
export interface CaughtMail {
  from: string;
  to: string[];
  subject: string;
  text: string;
  html: string;
  /** The Message-ID header, with its angle brackets. */
  messageId: string;
}

/** Starts an SMTP server on 127.0.0.1 that records mails and delivers none. No TLS, no login.
 * @param options.port default 0: a free port
 * @param options.onMail called with each accepted mail
 */
export async function startMailCatcher(
  options: { port?: number; onMail?: (mail: CaughtMail) => void } = {},
): Promise<MailCatcher> {
  const catcher = new MailCatcher(options.onMail);
  await catcher.listen(options.port ?? 0);
  return catcher;
}

export class MailCatcher {
  behaviour: MailBehaviour = "ok";
  /** Recipients to reject while others are accepted: 550 is permanent, 450 temporary. */
  readonly refused = new Map<string, number>();
  readonly mails: CaughtMail[] = [];
  readonly #waiting = new Waiting();
  readonly #onMail: (mail: CaughtMail) => void;
  readonly #server: SMTPServer;

  constructor(onMail: (mail: CaughtMail) => void = () => {}) {
    this.#onMail = onMail;
    this.#server = new SMTPServer({
      disabledCommands: ["STARTTLS", "AUTH"],
      disableReverseLookup: true,
      closeTimeout: 1,
      onRcptTo: ({ address }, _session, done) => {
        const responseCode = this.behaviour === "reject" ? 550 : this.refused.get(address);
        done(responseCode === undefined ? null : smtpError(responseCode, `no mailbox ${address} here`));
      },
      onData: (stream, _session, done) => void this.#take(stream, done),
    });
    // Ignores errors of a client's connection; an error of listening is thrown by `listen`.
    this.#server.on("error", () => {});
  }

  get smtpUrl(): string {
    return `smtp://127.0.0.1:${(this.#server.server.address() as AddressInfo).port}`;
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", resolve);
    });
  }

  /** Resolves with the first mail that satisfies the condition, including earlier mails. */
  async waitForMail(condition: (mail: CaughtMail) => boolean, timeoutMs = WAIT_LIMIT_MS): Promise<CaughtMail> {
    let found: CaughtMail | undefined;
    await this.#waiting.until(
      () => (found = this.mails.find(condition)) !== undefined,
      timeoutMs,
      () => `Mails: ${this.mails.map(({ to, subject }) => `"${subject}" to ${to.join(", ")}`).join("; ") || "none"}.`,
    );
    return found as CaughtMail;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(stream: SMTPServerDataStream, done: (error?: Error) => void): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      if (this.behaviour === "hang") return;
      const mail = await read(Buffer.concat(chunks));
      this.mails.push(mail);
      this.#onMail(mail);
      done();
      this.#waiting.changed();
    } catch (error) {
      done(error as Error);
    }
  }
}

async function read(bytes: Buffer): Promise<CaughtMail> {
  const mail = await PostalMime.parse(bytes);
  return {
    from: mail.from?.address ?? "",
    to: (mail.to ?? []).flatMap(({ address }) => address ?? []),
    subject: mail.subject ?? "",
    text: mail.text ?? "",
    html: mail.html ?? "",
    messageId: mail.messageId ?? "",
  };
}

function smtpError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}
