import { checkHeader, type Outbound, type OutboundAnswer } from "@collections/outbound";
import { explainFailure, explainErrorAnswer, WhatsAppNotSentError } from "./whatsapp-not-sent.ts";

const DEFAULT_TIMEOUT_MS = 10_000;

/** The address of the Cloud API, and the `Outbound` that sends requests to it. */
export type WhatsAppOptions = {
  /** The base URL of the Cloud API with its version, for example `https://graph.facebook.com/v24.0`. */
  baseUrl: string;
  outbound: Outbound;
  /** The time limit for one message, from DNS to the end of the answer. Default: 10,000. */
  timeoutMs?: number;
};

/** One message, made of a template that Meta has approved. */
export type TemplateMessage = {
  /**
   * The lender's WhatsApp account: the numeric id that Meta gave the sending number, and the account's access token.
   */
  phoneNumberId: string;
  accessToken: string;
  /** The recipient's phone number in E.164, for example `+919800000001`. */
  to: string;
  template: {
    name: string;
    /** Meta's language code, for example `en` or `en_US`. */
    language: string;
    /** The texts for {{1}}, {{2}}, … of the template's body, in order. */
    bodyParameters: string[];
    /** The code that the button of an authentication template copies. */
    buttonCode?: string;
  };
  /**
   * Data that Meta returns with every status of the message. It can identify the message even if the answer with its id
   * was lost. At most 512 characters.
   */
  callbackData?: string;
};

/** Sends messages through Meta's WhatsApp Cloud API. */
export type WhatsApp = {
  /**
   * Resolves with Meta's message id when Meta has accepted the message. Meta reports the delivery later, by its webhook.
   * Throws `WhatsAppNotSentError`. The API has no idempotency key, so an unknown outcome is not retryable.
   */
  sendTemplate(message: TemplateMessage): Promise<{ messageId: string }>;
};

/**
 * Makes a sender for any number of WhatsApp accounts. Each message has the number and the token of its account.
 *
 * @example
 * const whatsApp = createWhatsApp({ baseUrl: "https://graph.facebook.com/v24.0", outbound });
 * const template = { name: "payment_link", language: "en", bodyParameters: ["Asha", "₹2,500.00"] };
 * const to = "+919800000001";
 * const { messageId } = await whatsApp.sendTemplate({ phoneNumberId: "106540352242922", accessToken, to, template });
 */
export function createWhatsApp(options: WhatsAppOptions): WhatsApp {
  const baseUrl = options.baseUrl.replace(/\/+$/, "");

  async function sendTemplate(message: TemplateMessage): Promise<{ messageId: string }> {
    checkMessage(message);
    const answer = await options.outbound.request({
      method: "POST",
      url: `${baseUrl}/${message.phoneNumberId}/messages`,
      headers: { authorization: `Bearer ${message.accessToken}`, "content-type": "application/json" },
      body: JSON.stringify(templateBody(message)),
      timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      // A message that is lost to a closing idle connection may not be sent again.
      freshConnection: true,
    });
    return { messageId: messageIdOf(answer) };
  }

  return { sendTemplate };
}

function checkMessage(message: TemplateMessage): void {
  if (!/^\d{1,32}$/.test(message.phoneNumberId)) {
    throw new WhatsAppNotSentError("INVALID_REQUEST", false, "The phone number id must be digits only.");
  }
  if (!/^\+[1-9]\d{6,14}$/.test(message.to)) {
    throw new WhatsAppNotSentError("INVALID_REQUEST", false, "The recipient must be an E.164 number.");
  }
  if (message.accessToken === "" || !checkHeader("authorization", `Bearer ${message.accessToken}`).ok) {
    throw new WhatsAppNotSentError("TOKEN_INVALID", false, "The access token has characters that no token can have.");
  }
}

function templateBody({ to, template, callbackData }: TemplateMessage): object {
  const parameters = template.bodyParameters.map((text) => ({ type: "text", text: onOneLine(text) }));
  const components = [
    ...(parameters.length === 0 ? [] : [{ type: "body", parameters }]),
    ...(template.buttonCode === undefined ? [] : [codeButton(template.buttonCode)]),
  ];
  return {
    messaging_product: "whatsapp",
    recipient_type: "individual",
    to,
    type: "template",
    template: {
      name: template.name,
      language: { code: template.language },
      ...(components.length === 0 ? {} : { components }),
    },
    ...(callbackData === undefined ? {} : { biz_opaque_callback_data: callbackData }),
  };
}

/** Returns the button that copies a code. Meta's API calls it a URL button, and expects its index as a string. */
function codeButton(code: string): object {
  return { type: "button", sub_type: "url", index: "0", parameters: [{ type: "text", text: code }] };
}

/** Replaces line breaks, tabs and runs of spaces with one space: Meta rejects parameters that have them. */
function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

function messageIdOf(answer: OutboundAnswer): string {
  if (answer.kind === "failure") throw explainFailure(answer);
  const body = parseBody(answer.body);
  if (answer.status < 200 || answer.status > 299) throw explainErrorAnswer(answer.status, body);
  const messageId = firstMessageId(body);
  if (messageId !== undefined) return messageId;
  throw new WhatsAppNotSentError(
    "OUTCOME_UNKNOWN",
    false,
    "WhatsApp accepted the request, but its answer has no message id.",
    answer.status,
  );
}

function parseBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

function firstMessageId(body: unknown): string | undefined {
  const messages: unknown = isRecord(body) ? body["messages"] : undefined;
  const first: unknown = Array.isArray(messages) ? messages[0] : undefined;
  const id = isRecord(first) ? first["id"] : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
