import { createHmac, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type ApprovedTemplates, approvedTemplateError, filledText } from "./approved-templates.ts";
import {
  invalidParameter,
  metaError,
  templateMessageError,
  type MetaError,
  type TemplateMessage,
} from "./template-message.ts";
import { WAIT_LIMIT_MS, Waiting } from "./waiting.ts";

export interface FakeWhatsAppOptions {
  /** The access token that callers must send. */
  token: string;
  phoneNumberId: string;
  /** The port to listen on. Default 0: a free port. */
  port?: number;
  /** The templates that Meta has approved for the number. Without it, every template and language is accepted. */
  templates?: ApprovedTemplates;
  /** Called with each accepted message. */
  onMessage?: (message: WhatsAppMessage) => void;
}

/** `edge502`: the message is accepted, but a proxy in between answers 502. */
export type WhatsAppBehaviour =
  | "ok"
  | "invalidToken"
  | "rateLimited"
  | "error500"
  | "edge502"
  | "hang"
  | "undeliverable";

/** The status of a message after it was accepted. */
export type WhatsAppMessageStatus = "sent" | "delivered" | "read" | "failed";

/** A message status that the callback receives. */
export interface ReportedStatus {
  id: string;
  status: WhatsAppMessageStatus;
  /** Present only if the status is that the message failed. */
  errorCode?: number;
  /** The text that the sender attached to the message. */
  callbackData?: string | undefined;
}

/** The callback for message statuses, as a lender registers it with Meta. */
export interface WhatsAppCallback {
  url: string;
  /** The secret that signs the calls to the callback. */
  appSecret: string;
  /** The token that Meta sends to the callback to verify it when it is registered. */
  verifyToken: string;
}

/** A message that was accepted for sending. */
export interface WhatsAppMessage {
  /** `wamid.…`, the id in the answer to the sender. */
  id: string;
  to: string;
  template: string;
  language: string;
  /** The texts for the placeholders of the template's body. */
  parameters: string[];
  /** The text that the recipient reads. Undefined if the fake does not have the text of the template. */
  text: string | undefined;
  /** The code that the button of an authentication template copies. */
  buttonCode: string | undefined;
  /** The sender's own text, which is repeated with each status. */
  callbackData: string | undefined;
  receivedAt: number;
}

/** A request that was answered with an error. */
export interface WhatsAppRefusal {
  status: number;
  error: MetaError;
  body: unknown;
}

/** Starts a WhatsApp Cloud API on 127.0.0.1 that accepts template messages and validates them strictly. */
export async function startFakeWhatsApp(options: FakeWhatsAppOptions): Promise<FakeWhatsApp> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  return new FakeWhatsApp(server, options);
}

/** Simulates Meta's server for the messages of one phone number. */
export class FakeWhatsApp {
  behaviour: WhatsAppBehaviour = "ok";
  /** The base URL, used instead of https://graph.facebook.com. */
  readonly url: string;
  readonly messages: WhatsAppMessage[] = [];
  readonly refusals: WhatsAppRefusal[] = [];
  /** The statuses of each accepted message, reported in this order if a callback is registered. */
  journey: readonly WhatsAppMessageStatus[] = ["sent", "delivered", "read"];
  /** The delay before each status. */
  statusAfterMs = 50;
  #callback: WhatsAppCallback | undefined;
  readonly #server: Server;
  readonly #token: string;
  readonly #phoneNumberId: string;
  readonly #templates: ApprovedTemplates | undefined;
  readonly #onMessage: (message: WhatsAppMessage) => void;
  readonly #waiting = new Waiting();

  constructor(server: Server, { token, phoneNumberId, templates, onMessage = () => {} }: FakeWhatsAppOptions) {
    this.#server = server;
    this.#token = token;
    this.#phoneNumberId = phoneNumberId;
    this.#templates = templates;
    this.#onMessage = onMessage;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (incoming, response) => void this.#serve(incoming, response));
  }

  /** Resolves with the messages when the condition is true for them. */
  async waitForMessages(
    condition: (messages: readonly WhatsAppMessage[]) => boolean,
    timeoutMs = WAIT_LIMIT_MS,
  ): Promise<readonly WhatsAppMessage[]> {
    await this.#waiting.until(
      () => condition(this.messages),
      timeoutMs,
      () => {
        const refused = this.refusals.map(({ error }) => error.message).join("; ");
        return `Messages: ${JSON.stringify(this.messages)}. Refused: ${refused || "none"}.`;
      },
    );
    return this.messages;
  }

  /** Registers a callback as Meta does: only if it answers with the challenge. */
  async registerCallback(callback: WhatsAppCallback): Promise<void> {
    const challenge = randomBytes(8).readUInt32BE().toString();
    const handshake = { "hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": callback.verifyToken };
    const response = await fetch(`${callback.url}?${new URLSearchParams(handshake).toString()}`);
    if (!response.ok || (await response.text()) !== challenge) {
      throw new Error(`The callback URL could not be validated: it answered ${response.status}.`);
    }
    this.#callback = callback;
  }

  /** Reports message statuses to the callback in one signed call; returns the status of its answer. */
  async report(statuses: readonly ReportedStatus[]): Promise<number> {
    if (!this.#callback) throw new Error("No callback is registered.");
    const { url, appSecret } = this.#callback;
    const body = JSON.stringify(statusesBody(this.#phoneNumberId, statuses));
    const signature = createHmac("sha256", appSecret).update(body).digest("hex");
    const headers = { "Content-Type": "application/json", "X-Hub-Signature-256": `sha256=${signature}` };
    const response = await fetch(url, { method: "POST", headers, body });
    await response.arrayBuffer();
    return response.status;
  }

  async close(): Promise<void> {
    this.#callback = undefined;
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const rawBody = await readText(incoming).catch(() => null);
    if (rawBody === null || this.behaviour === "hang") return;
    const body = parsedOrNull(rawBody);
    const refusal = this.#rejectionOf(incoming, body) ?? MISBEHAVIOURS[this.behaviour];
    if (refusal === undefined) {
      const accepted = this.#accept(body as TemplateMessage);
      if (this.behaviour === "edge502") response.writeHead(502).end("<html>Bad Gateway</html>");
      else answer(response, 200, accepted);
    } else {
      this.refusals.push({ ...refusal, body });
      answer(response, refusal.status, {
        error: { ...refusal.error, fbtrace_id: randomBytes(8).toString("base64url") },
      });
    }
    this.#waiting.changed();
  }

  #rejectionOf(
    { method, url, headers }: IncomingMessage,
    body: unknown,
  ): { status: number; error: MetaError } | undefined {
    if (headers.authorization !== `Bearer ${this.#token}`) return MISBEHAVIOURS.invalidToken;
    const path = /^(?:\/v\d+\.\d+)?\/([^/]+)\/messages$/.exec(url ?? "");
    if (method !== "POST" || path?.[1] !== this.#phoneNumberId) {
      return { status: 400, error: invalidParameter(`Unsupported ${method} request: ${url} does not exist`) };
    }
    if (!/^application\/json\b/.test(headers["content-type"] ?? "")) {
      return { status: 400, error: invalidParameter(`The body is ${headers["content-type"]}, not application/json`) };
    }
    const fault = templateMessageError(body) ?? approvedTemplateError(this.#templates, body as TemplateMessage);
    return fault === null ? undefined : { status: 400, error: fault };
  }

  /**
   * Reports each status to the callback. Repeats the report once if the callback does not answer 200; Meta repeats it
   * more often.
   */
  async #reportJourney({ id, callbackData }: WhatsAppMessage): Promise<void> {
    for (const status of this.journey) {
      await delay(this.statusAfterMs, undefined, { ref: false });
      for (let tries = 0; tries < 2 && this.#callback; tries += 1) {
        if ((await this.report([{ id, status, callbackData }]).catch(() => 0)) === 200) break;
      }
    }
  }

  #accept({ to, template, biz_opaque_callback_data: callbackData }: TemplateMessage): object {
    const id = `wamid.${randomBytes(24).toString("base64")}`;
    const parameters = template.components[0].parameters.map(({ text }) => text);
    const message = {
      id,
      to,
      template: template.name,
      language: template.language.code,
      parameters,
      text: filledText(this.#templates, template),
      buttonCode: template.components[1]?.parameters[0].text,
      callbackData,
      receivedAt: Date.now(),
    };
    this.messages.push(message);
    this.#onMessage(message);
    if (this.#callback) void this.#reportJourney(message);
    const contacts = [{ input: to, wa_id: to.replace("+", "") }];
    return { messaging_product: "whatsapp", contacts, messages: [{ id, message_status: "accepted" }] };
  }
}

function statusesBody(phoneNumberId: string, statuses: readonly ReportedStatus[]): object {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const value = {
    messaging_product: "whatsapp",
    metadata: { display_phone_number: "15550001234", phone_number_id: phoneNumberId },
    statuses: statuses.map(({ id, status, errorCode, callbackData }) => ({
      id,
      status,
      timestamp,
      recipient_id: "919800000001",
      ...(callbackData !== undefined && { biz_opaque_callback_data: callbackData }),
      ...(status === "failed" && { errors: [{ code: errorCode ?? 131_026, title: "Message undeliverable" }] }),
    })),
  };
  return {
    object: "whatsapp_business_account",
    entry: [{ id: "102290129340398", changes: [{ field: "messages", value }] }],
  };
}

const MISBEHAVIOURS = {
  ok: undefined,
  edge502: undefined,
  hang: undefined,
  invalidToken: { status: 401, error: { message: "Invalid OAuth access token.", type: "OAuthException", code: 190 } },
  rateLimited: {
    status: 429,
    error: metaError(130429, "(#130429) Rate limit hit", "Too many messages were sent from this number."),
  },
  error500: {
    status: 500,
    error: metaError(131000, "(#131000) Something went wrong", "The message failed for a reason that is not known."),
  },
  undeliverable: {
    status: 400,
    error: metaError(131026, "(#131026) Message undeliverable", "The recipient cannot receive WhatsApp messages."),
  },
} satisfies Record<WhatsAppBehaviour, { status: number; error: MetaError } | undefined>;

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json; charset=UTF-8" }).end(JSON.stringify(body));
}
