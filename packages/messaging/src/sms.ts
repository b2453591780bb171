import type { Outbound } from "@collections/outbound";
import { explainSmsAnswer } from "./sms-not-sent.ts";

const DEFAULT_TIMEOUT_MS = 10_000;

/** The address of the gateway and the form of its requests. */
export type SmsGatewayOptions = {
  url: string;
  /** Headers that are sent with each message, such as the gateway's key. */
  headers: Record<string, string>;
  /**
   * The body of a request, with the placeholders `{to}` and `{text}`. A body that begins with `{` is JSON with the
   * placeholders inside strings. Any other body is a form such as `to={to}&message={text}`.
   */
  body: string;
  outbound: Outbound;
  /** The time limit for one message, from DNS to the end of the answer. Default: 10,000. */
  timeoutMs?: number;
};

/** Sends text messages through an HTTP gateway that the operator configures. */
export type SmsGateway = {
  /**
   * Resolves when the gateway has answered 2xx. `to` is an E.164 number. `key` is sent as `Idempotency-Key`, for gateways
   * that support it. Throws `SmsNotSentError`.
   */
  send(message: { to: string; text: string; key: string }): Promise<void>;
};

/**
 * Thrown if the template for the body of the gateway's requests has no placeholder for the number or for the text, or
 * is invalid JSON. The message says which of these is wrong.
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
 * Checks the body of a gateway's requests, before any message is sent. Throws `InvalidSmsBodyError`.
 *
 * @example
 * checkSmsBody('{"mobile":"{to}","message":"{text}"}');
 * checkSmsBody("to={to}&message={text}");
 */
export function checkSmsBody(body: string): void {
  readBody(body);
}

/**
 * Makes the sender for an HTTP gateway. Sends nothing yet. Throws `InvalidSmsBodyError`.
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
      // A message that is lost to a closing idle connection may not be sent again.
      freshConnection: true,
    });
    const isTaken = answer.kind === "answer" && answer.status >= 200 && answer.status <= 299;
    if (!isTaken) throw explainSmsAnswer(answer);
  }

  return { send };
}

function readBody(body: string): (to: string, text: string) => { contentType: string; body: string } {
  const isJson = /^\s*\{(?!to\}|text\})/.test(body);
  for (const placeholder of ["{to}", "{text}"]) {
    if (!body.includes(placeholder)) throw new InvalidSmsBodyError(`has no place for ${placeholder}`);
  }
  if (isJson && !isJsonText(body)) throw new InvalidSmsBodyError("begins with { but is not valid JSON");
  const contentType = isJson ? "application/json" : "application/x-www-form-urlencoded";
  const escape = isJson ? (text: string) => JSON.stringify(text).slice(1, -1) : encodeURIComponent;
  return (to, text) => {
    const values: Record<string, string> = { "{to}": escape(to), "{text}": escape(text) };
    // Both placeholders are replaced in one pass, so that a {to} inside the message itself is not replaced.
    return { contentType, body: body.replaceAll(/\{to\}|\{text\}/g, (placeholder) => values[placeholder]!) };
  };
}

/**
 * Returns whether the body is JSON. Placeholders are inside strings, so the body is valid JSON even with placeholders.
 */
function isJsonText(body: string): boolean {
  try {
    return typeof JSON.parse(body) === "object";
  } catch {
    return false;
  }
}
