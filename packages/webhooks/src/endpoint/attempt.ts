import { createHmac, type KeyObject } from "node:crypto";
import { describeFailure, type FailureReason, type Outbound, type OutboundAnswer } from "@collections/outbound";
import { publicId } from "@collections/database";
import { HEADERS, type Secret, sign } from "@collections/signing";
import { checkCustomHeaders, type CustomHeaders, hidden } from "./custom-headers.ts";
import { type OfTenant, tenantIdOf } from "./old-names.ts";
import { checkKey, type WebhookKey } from "./webhook-key.ts";

/** How long a whole exchange with a callback may take. contract: Limits, webhook acknowledgement time */
export const DEFAULT_TIMEOUT_MS = 10_000;

const DEFAULT_USER_AGENT = "Webhooks/1.0";
const DEFAULT_HEADER_PREFIX = "X-Service-";
const KEPT_BODY_BYTES = 2_048;

/** The names that identify the sender of requests to callbacks. */
export interface WebhookBrand {
  /**
   * The prefix of the package's own headers, such as `X-Service-Event` and `X-Service-Signature`. Default:
   * `X-Service-`.
   */
  readonly headerPrefix?: string | undefined;
  /** Default: `Webhooks/1.0`. */
  readonly userAgent?: string | undefined;
  /**
   * Also sends the headers of Standard Webhooks, which the receiver's libraries verify: `webhook-id`, `webhook-timestamp` and
   * `webhook-signature`. Default: false.
   */
  readonly standardHeaders?: boolean | undefined;
}

/** Everything that is needed to send signed requests to callbacks. */
export interface WebhookSender extends WebhookBrand {
  readonly outbound: Outbound;
  /** `endpoint` is undefined for the unnamed endpoint of the tenant. */
  readonly signingKeyOf: (tenantId: string, endpoint?: string) => WebhookKey | Promise<WebhookKey>;
  /**
   * Headers that the requests to an endpoint also have, such as the receiver's API key. Names of the package's own headers are
   * rejected. `testEndpoint` does not show the values. Default: none.
   */
  readonly headersOf?: ((tenantId: string, endpoint?: string) => CustomHeaders | Promise<CustomHeaders>) | undefined;
  /** The time limit of the whole exchange. */
  readonly timeoutMs: number;
  readonly now: () => Date;
}

/** One request to a callback. `eventId` is the event's UUID. `number` is the number of the attempt, from 1. */
export type AttemptToMake = OfTenant & {
  /** The name of the endpoint. Default: the unnamed endpoint. */
  readonly endpoint?: string | undefined;
  readonly url: string;
  readonly eventId: string;
  readonly kind: string;
  readonly number: number;
  readonly body: string;
  readonly replay?: boolean;
  readonly signal?: AbortSignal;
};

/**
 * Why an attempt failed. With `NON_2XX` and `REDIRECT`, the callback has answered. With the other codes, no answer
 * came. `BLOCKED_ADDRESS`: requests to the address of the URL are not permitted. contract: Delivery
 */
export type AttemptErrorCode = "TIMEOUT" | "DNS" | "CONNECT" | "TLS" | "NON_2XX" | "REDIRECT" | "BLOCKED_ADDRESS";

/** Why an attempt did not deliver its event. */
export interface AttemptError {
  readonly code: AttemptErrorCode;
  /** The exact reason, if no answer came. */
  readonly reason?: FailureReason;
  /** One or two plain sentences for the receiver's engineer. */
  readonly detail: string;
}

/** The answer of a callback. Header names are in lower case. `body` is the first 2 KB of the body as text. */
export interface CallbackAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A request as it was sent, or would be sent: headers with timestamp and signature, and the exact body. */
export interface SentRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/**
 * The result of an attempt. `delivered`: a 2xx status line came in time. `abandoned`: this process aborted the request, so
 * the result says nothing about the receiver. `ownFault`: our own network failed, which does not count against the endpoint.
 */
export interface AttemptResult {
  readonly outcome: "delivered" | "failed" | "abandoned";
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly request: SentRequest;
  readonly answer: CallbackAnswer | null;
  readonly error: AttemptError | null;
  readonly ownFault: boolean;
}

/**
 * Posts an event once, with a new timestamp and a signature over the path of the callback URL. Rejects only if
 * `signingKeyOf` or `headersOf` does. The result does not contain the values of `headersOf`. contract: Webhook signing, Delivery
 */
export async function makeAttempt(sender: WebhookSender, attempt: AttemptToMake): Promise<AttemptResult> {
  const key = await keyOf(sender, attempt);
  const custom = sender.headersOf && (await customHeadersOf(sender, attempt));
  const startedAt = sender.now();
  const own = signedHeaders(sender, attempt, key, startedAt);
  const answer = await sender.outbound.request({
    method: "POST",
    url: attempt.url,
    headers: custom ? { ...own, ...custom } : own,
    body: attempt.body,
    timeoutMs: sender.timeoutMs,
    ...(attempt.signal && { signal: attempt.signal }),
  });
  const headers = custom ? { ...own, ...hidden(custom) } : own;
  const request = { url: attempt.url, headers, body: attempt.body };
  return { request, startedAt, durationMs: answer.durationMs, ...judge(answer) };
}

/**
 * Returns the request that an attempt would send now, with the values of `headersOf`. A receiver accepts its signature for five
 * minutes. Rejects if `signingKeyOf` or `headersOf` does. contract: Webhook signing, Delivery
 *
 * @example
 * const body = JSON.stringify({ eventId: publicId("evt", eventId), kind: "ping", sequence: null });
 * const attempt = { tenantId, url: "https://acme.example/hooks", eventId, kind: "ping", number: 1, body };
 * const { url, headers } = await signedRequest(sender, attempt);
 */
export async function signedRequest(
  sender: Pick<WebhookSender, "signingKeyOf" | "headersOf" | "now"> & WebhookBrand,
  attempt: AttemptToMake,
): Promise<SentRequest> {
  const key = await keyOf(sender, attempt);
  const custom = await customHeadersOf(sender, attempt);
  const headers = { ...signedHeaders(sender, attempt, key, sender.now()), ...custom };
  return { url: attempt.url, headers, body: attempt.body };
}

async function customHeadersOf(
  { headersOf, headerPrefix = DEFAULT_HEADER_PREFIX }: Pick<WebhookSender, "headersOf" | "headerPrefix">,
  attempt: AttemptToMake,
): Promise<CustomHeaders> {
  if (headersOf === undefined) return {};
  const owner = { tenantId: tenantIdOf(attempt), endpoint: attempt.endpoint };
  const headers = (await headersOf(owner.tenantId, owner.endpoint)) ?? {};
  checkCustomHeaders(headers, headerPrefix, owner);
  return headers;
}

async function keyOf(sender: Pick<WebhookSender, "signingKeyOf">, attempt: AttemptToMake): Promise<WebhookKey> {
  const tenantId = tenantIdOf(attempt);
  const { endpoint } = attempt;
  const key = await sender.signingKeyOf(tenantId, endpoint);
  checkKey(key, { tenantId, endpoint });
  return key;
}

function signedHeaders(
  { headerPrefix = DEFAULT_HEADER_PREFIX, userAgent = DEFAULT_USER_AGENT, standardHeaders = false }: WebhookBrand,
  attempt: AttemptToMake,
  key: WebhookKey,
  at: Date,
): Record<string, string> {
  const timestamp = String(at.getTime());
  const names = headerNames(headerPrefix);
  const path = pathOf(attempt.url);
  const signatureBy = ({ secret }: WebhookKey) => sign({ method: "POST", path, timestamp, body: attempt.body, secret });
  const { retiring } = key;
  return {
    "Content-Type": "application/json",
    Accept: "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": userAgent,
    [names.event]: attempt.kind,
    [names.delivery]: publicId("evt", attempt.eventId),
    [names.attempt]: String(attempt.number),
    [names.keyId]: key.keyId,
    [names.timestamp]: timestamp,
    [names.signature]: signatureBy(key),
    ...(retiring && {
      [`${headerPrefix}Retiring-Key-Id`]: retiring.keyId,
      [`${headerPrefix}Retiring-Signature`]: signatureBy(retiring),
    }),
    ...(attempt.replay === true && { [names.replay]: "true" }),
    ...(standardHeaders && standardHeadersOf(attempt, retiring ? [key, retiring] : [key], at)),
  };
}

const MAX_CACHED_PATHS = 1_000;
const paths = new Map<string, string>();

/**
 * Returns the path of a URL as the URL parser writes it. The signature covers this path, because the request line contains
 * it. `outbound` refuses a URL that cannot be parsed. The same few URLs are called often, so their paths are cached.
 */
function pathOf(url: string): string {
  const cached = paths.get(url);
  if (cached !== undefined) return cached;
  const path = URL.parse(url)?.pathname ?? "/";
  if (paths.size >= MAX_CACHED_PATHS) paths.clear();
  paths.set(url, path);
  return path;
}

/** The headers of Standard Webhooks 1. Each key makes one signature. */
function standardHeadersOf(
  { eventId, body }: AttemptToMake,
  keys: readonly WebhookKey[],
  at: Date,
): Record<string, string> {
  const id = publicId("evt", eventId);
  const seconds = String(Math.floor(at.getTime() / 1_000));
  const signatures = keys.map(({ secret }) => {
    const hmac = createHmac("sha256", standardKey(secret));
    return `v1,${hmac.update(`${id}.${seconds}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": signatures.join(" ") };
}

const STANDARD_PREFIX = "whsec_";

/** The bytes of the key: what follows `whsec_`, decoded from base64; otherwise the UTF-8 of the secret. */
function standardKey(secret: Secret): Buffer | KeyObject {
  if (typeof secret !== "string") return secret as unknown as KeyObject;
  return secret.startsWith(STANDARD_PREFIX)
    ? Buffer.from(secret.slice(STANDARD_PREFIX.length), "base64")
    : Buffer.from(secret);
}

type HeaderNames = Readonly<Record<keyof typeof HEADERS, string>>;

const namesByPrefix = new Map<string, HeaderNames>([[DEFAULT_HEADER_PREFIX, HEADERS]]);

function headerNames(prefix: string): HeaderNames {
  const known = namesByPrefix.get(prefix);
  if (known) return known;
  const entries = Object.entries(HEADERS).map(([key, name]) => [
    key,
    prefix + name.slice(DEFAULT_HEADER_PREFIX.length),
  ]);
  const names = Object.fromEntries(entries) as HeaderNames;
  namesByPrefix.set(prefix, names);
  return names;
}

type Answered = Extract<OutboundAnswer, { kind: "answer" }>;
type Judgement = Pick<AttemptResult, "outcome" | "answer" | "error" | "ownFault">;

function judge(answer: OutboundAnswer): Judgement {
  if (answer.kind === "failure") {
    const { code, reason, ownFault } = answer;
    if (code === "ABORTED") return { outcome: "abandoned", answer: null, error: null, ownFault };
    return { outcome: "failed", answer: null, error: { code, reason, detail: describeFailure(answer) }, ownFault };
  }
  const kept = { status: answer.status, headers: answer.headers, body: textOf(answer.body) };
  const error = errorOf(answer);
  return { outcome: error === null ? "delivered" : "failed", answer: kept, error, ownFault: false };
}

function errorOf({ status, bodyCut, contentCoding }: Answered): AttemptError | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) {
    const detail = `The callback answered ${status}. Redirects are not followed: register the URL that it leads to.`;
    return { code: "REDIRECT", detail };
  }
  const unread = bodyCut === "unknown_coding" ? ` Its body has the coding ${contentCoding}, which is not decoded.` : "";
  return { code: "NON_2XX", detail: `The callback answered ${status}; any 2xx acknowledges.${unread}` };
}

/**
 * Returns the first 2 KB as text that PostgreSQL can store: without NUL, invalid UTF-8, or half of a character at the
 * end.
 */
function textOf(body: Uint8Array): string {
  if (body.length === 0) return "";
  const isCut = body.length > KEPT_BODY_BYTES;
  return new TextDecoder().decode(body.subarray(0, KEPT_BODY_BYTES), { stream: isCut }).replaceAll("\0", "\uFFFD");
}
