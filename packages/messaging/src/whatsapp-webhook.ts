import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { type WhatsAppFault, explainErrorCode } from "./whatsapp-not-sent.ts";

/** A status that Meta reports for a message that it has accepted. */
export type WhatsAppStatus = {
  /** The id that `sendTemplate` returned: `wamid.…`. */
  messageId: string;
  status: "sent" | "delivered" | "read" | "failed";
  /** The reason for a failure. `detail` is a sentence without phone numbers or Meta's text. */
  failure?: { code: WhatsAppFault; detail: string };
  /** The `callbackData` that was passed to `sendTemplate`. */
  callbackData?: string;
};

const MAX_TEXT_CHARS = 512;
const STATUSES: ReadonlySet<unknown> = new Set<WhatsAppStatus["status"]>(["sent", "delivered", "read", "failed"]);

const SIGNATURE = /^sha256=([0-9a-f]{64})$/i;

/**
 * Returns whether a header has the form of Meta's `X-Hub-Signature-256`. It needs no body, so it can reject a request
 * before the body is read.
 *
 * @example
 * const signature = headers.get("x-hub-signature-256") ?? undefined;
 * if (!isLikeSignatureOfMeta(signature)) throw new TypeError("This is not a callback from Meta.");
 */
export function isLikeSignatureOfMeta(signature: string | undefined): boolean {
  return SIGNATURE.test(signature ?? "");
}

/**
 * Returns whether `X-Hub-Signature-256` is the signature of the body with the app's secret. Compares in constant time.
 *
 * @example
 * const signature = headers.get("x-hub-signature-256") ?? undefined;
 * const statuses = isSignedByMeta(body, signature, appSecret) ? readWhatsAppStatuses(body) : [];
 */
export function isSignedByMeta(body: Uint8Array, signature: string | undefined, appSecret: string): boolean {
  const expected = createHmac("sha256", appSecret).update(body).digest();
  const given = SIGNATURE.exec(signature ?? "")?.[1] ?? "";
  const presented = Buffer.from(given, "hex");
  return presented.length === expected.length && timingSafeEqual(presented, expected);
}

/**
 * Returns whether two tokens are equal. Compares their hashes in constant time.
 *
 * @example
 * const given = url.searchParams.get("hub.verify_token") ?? "";
 * const answer = isSameToken(given, verifyToken) ? url.searchParams.get("hub.challenge") : null;
 */
export function isSameToken(given: string, expected: string): boolean {
  const [one, other] = [given, expected].map((token) => createHash("sha256").update(token).digest());
  return timingSafeEqual(one!, other!);
}

/**
 * Reads the statuses in the body of a callback, in their order. Everything else (incoming messages, unknown statuses,
 * invalid data) is ignored, because the lender may use the number for other purposes too.
 *
 * @example
 * for (const { messageId, status, failure } of readWhatsAppStatuses(body)) {
 *   if (status === "failed") console.error(`${messageId}: ${failure?.detail}`);
 * }
 */
export function readWhatsAppStatuses(body: Uint8Array): WhatsAppStatus[] {
  const document = parsed(body);
  return listIn(document, "entry")
    .flatMap((entry) => listIn(entry, "changes"))
    .flatMap((change) => listIn(memberOf(change, "value"), "statuses"))
    .flatMap((status) => readStatus(status) ?? []);
}

function readStatus(given: unknown): WhatsAppStatus | undefined {
  const [messageId, status] = [memberOf(given, "id"), memberOf(given, "status")];
  if (!isPlainText(messageId) || !STATUSES.has(status)) return undefined;
  const callbackData = memberOf(given, "biz_opaque_callback_data");
  const reported = {
    messageId,
    status: status as WhatsAppStatus["status"],
    ...(isPlainText(callbackData) && { callbackData }),
  };
  if (reported.status !== "failed") return reported;
  const code = memberOf(listIn(given, "errors")[0], "code");
  return { ...reported, failure: explainErrorCode(typeof code === "number" ? code : undefined) };
}

/** Rejects control characters: neither Meta's ids nor our texts have any, and PostgreSQL cannot store NUL in text. */
function isPlainText(given: unknown): given is string {
  return typeof given === "string" && given !== "" && given.length <= MAX_TEXT_CHARS && !/\p{Cc}|\p{Cs}/u.test(given);
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString("utf8"));
  } catch {
    return undefined;
  }
}

function listIn(from: unknown, name: string): unknown[] {
  const list = memberOf(from, name);
  return Array.isArray(list) ? list : [];
}

function memberOf(from: unknown, name: string): unknown {
  return typeof from === "object" && from !== null && Object.hasOwn(from, name)
    ? (from as Record<string, unknown>)[name]
    : undefined;
}
