import type { Outbound } from "@collections/outbound";
import { explainSmsAnswer } from "./sms-not-sent.ts";

const DEFAULT_TIMEOUT_MS = 10_000;

/** Where the gateway is, and what it takes. */
export type SmsGatewayOptions = {
  url: string;
  /** Sent with each message, such as the gateway's key. */
  headers: Record<string, string>;
  /**
   * What the gateway takes, with `{to}` and `{text}` where they belong: JSON when it begins with `{`, and the places
   * stand in strings; else a form such as `to={to}&message={text}`.
   */
  body: string;
  outbound: Outbound;
  /** For one message, from DNS to the end of the answer. Default 10,000. */
  timeoutMs?: number;
};

/** Sends text messages through an HTTP gateway that the operator names. */
export type SmsGateway = {
  /**
   * Resolves once the gateway has answered 2xx. `to` is E.164; `key` goes with it as `Idempotency-Key`, for gateways that
   * know it. Throws `SmsNotSentError`.
   */
  send(message: { to: string; text: string; key: string }): Promise<void>;
};

/**
 * The gateway's body has no place for the number or the text, or is no JSON. The message says which of them.
 *
 * @example
 * try {
 *   checkSmsBody('{"mobile":"{to}"}');
 * } catch (error) {
 *   if (error instanceof InvalidSmsBodyError) console.error(error.message); // has no place for {text}
 * }
 */
export class InvalidSmsBodyError extends Error {
  override readonly name = "InvalidSmsBodyError";
  readonly code = "INVALID_SMS_BODY";
}

/**
 * Refuses a gateway's body that cannot be used, before any message is sent. Throws `InvalidSmsBodyError`.
 *
 * @example
 * checkSmsBody('{"mobile":"{to}","message":"{text}"}');
 * checkSmsBody("to={to}&message={text}");
 */
export function checkSmsBody(body: string): void {
  readBody(body);
}

/**
 * Makes a gateway over the operator's HTTP interface; nothing is sent yet. Throws `InvalidSmsBodyError`.
 *
 * @example
 * const headers = { authorization: `Bearer ${accessToken}` };
 * const body = '{"mobile":"{to}","message":"{text}"}';
 * const sms = createSmsGateway({ url: "https://sms.example/v1/messages", headers, body, outbound });
 * await sms.send({ to: "+919800000001", text, key: `code:${alertId}` });
 */
export function createSmsGateway(options: SmsGatewayOptions): SmsGateway {
  const { url, headers, outbound, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const fill = readBody(options.body);

  async function send({ to, text, key }: { to: string; text: string; key: string }): Promise<void> {
    const { contentType, body } = fill(to, text);
    const answer = await outbound.request({
      method: "POST",
      url,
      headers: { ...headers, "content-type": contentType, "idempotency-key": key },
      body,
      timeoutMs,
    });
    const isTaken = answer.kind === "answer" && answer.status >= 200 && answer.status <= 299;
    if (!isTaken) throw explainSmsAnswer(answer);
  }

  return { send };
}

function readBody(body: string): (to: string, text: string) => { contentType: string; body: string } {
  const isJson = /^\s*\{(?!to\}|text\})/.test(body);
  for (const place of ["{to}", "{text}"]) {
    if (!body.includes(place)) throw new InvalidSmsBodyError(`has no place for ${place}`);
  }
  if (isJson && !isJsonText(body)) throw new InvalidSmsBodyError("begins like JSON and is none");
  const contentType = isJson ? "application/json" : "application/x-www-form-urlencoded";
  const escape = isJson ? (text: string) => JSON.stringify(text).slice(1, -1) : encodeURIComponent;
  return (to, text) => {
    const values: Record<string, string> = { "{to}": escape(to), "{text}": escape(text) };
    // At once: a text that holds a place's name is not filled in again.
    return { contentType, body: body.replaceAll(/\{to\}|\{text\}/g, (place) => values[place]!) };
  };
}

/** Places stand in strings, where they disturb nothing. */
function isJsonText(body: string): boolean {
  try {
    return typeof JSON.parse(body) === "object";
  } catch {
    return false;
  }
}
