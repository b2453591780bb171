import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { type WhatsAppFault, wordsOfErrorCode } from "./whatsapp-not-sent.ts";

/** What Meta tells of a message that it had accepted. */
export type WhatsAppStatus = {
  /** As `sendTemplate` answered: `wamid.…`. */
  messageId: string;
  status: "sent" | "delivered" | "read" | "failed";
  /** Why it failed. `detail` is a sentence without numbers of people or Meta's own words. */
  failure?: { code: WhatsAppFault; detail: string };
  /** What `sendTemplate` was given with the message. */
  callbackData?: string;
};

const MAX_TEXT_CHARS = 512;
const STATUSES: ReadonlySet<unknown> = new Set<WhatsAppStatus["status"]>(["sent", "delivered", "read", "failed"]);

const SIGNATURE = /^sha256=([0-9a-f]{64})$/i;

/**
 * Whether a header could be Meta's `X-Hub-Signature-256`, before the bytes that it signs are read.
 *
 * @example
 * const signature = headers.get("x-hub-signature-256") ?? undefined;
 * if (!isLikeSignatureOfMeta(signature)) throw new TypeError("This is no callback of Meta.");
 */
export function isLikeSignatureOfMeta(signature: string | undefined): boolean {
  return SIGNATURE.test(signature ?? "");
}

/**
 * Whether `X-Hub-Signature-256` is that of these bytes under the app's secret. In constant time.
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
 * Whether two tokens are the same. In constant time: it compares their hashes.
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
 * The statuses in the body of a callback, in the order told. What is none (incoming messages, kinds to come, odd
 * shapes) is passed over: the lender's number may serve other purposes too.
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
  const told = {
    messageId,
    status: status as WhatsAppStatus["status"],
    ...(isPlainText(callbackData) && { callbackData }),
  };
  if (told.status !== "failed") return told;
  const code = memberOf(listIn(given, "errors")[0], "code");
  return { ...told, failure: wordsOfErrorCode(typeof code === "number" ? code : undefined) };
}

/** PostgreSQL's texts hold no NUL, and neither an id of Meta's nor our own text has a control character. */
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
