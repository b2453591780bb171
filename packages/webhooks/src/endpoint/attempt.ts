import type { Outbound, OutboundAnswer } from "@collections/outbound";
import { publicId } from "@collections/database";
import { HEADERS, type Secret, sign } from "@collections/signing";

/**
 * How long a whole exchange with a callback may take. contract: Limits, webhook acknowledgement time
 *
 * @example
 * const courier: Courier = { outbound, signingKeyOf, timeoutMs: DEFAULT_TIMEOUT_MS, now: () => new Date() };
 */
export const DEFAULT_TIMEOUT_MS = 10_000;

const USER_AGENT = "PartnerCollections-Webhooks/1.0";
const KEPT_BODY_BYTES = 2_048;

/**
 * The key that signs a lender's webhooks now: the receiver finds its secret by the id.
 *
 * @example
 * const key: WebhookKey = { keyId: "wk_2026_11", secret: "kept-in-a-vault-and-never-logged" };
 */
export interface WebhookKey {
  readonly keyId: string;
  readonly secret: Secret;
}

/** What it takes to make an attempt. */
export interface Courier {
  readonly outbound: Outbound;
  readonly signingKeyOf: (lenderId: string) => WebhookKey | Promise<WebhookKey>;
  /** For the whole exchange. */
  readonly timeoutMs: number;
  readonly now: () => Date;
}

/** One request to a callback. `eventId` is the event's UUID; `number` counts from 1. */
export interface AttemptToMake {
  readonly lenderId: string;
  readonly url: string;
  readonly eventId: string;
  readonly kind: string;
  readonly number: number;
  readonly body: string;
  readonly replay?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Why an attempt failed. `NON_2XX` and `REDIRECT` come with an answer, the others without; `BLOCKED_ADDRESS`: the URL
 * leads to an address that nobody is sent to. contract: Delivery
 */
export type AttemptErrorCode = "TIMEOUT" | "DNS" | "CONNECT" | "TLS" | "NON_2XX" | "REDIRECT" | "BLOCKED_ADDRESS";

/** What was wrong with an attempt that did not deliver. */
export interface AttemptError {
  readonly code: AttemptErrorCode;
  /** One or two plain sentences for the lender's engineer. */
  readonly detail: string;
}

/** What the callback answered: header names in lower case, and the first 2 KB of the body as text. */
export interface CallbackAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A request as it went out, or would: its headers with timestamp and signature, its body to the byte. */
export interface SentRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/**
 * How an attempt went. `delivered`: a 2xx status line came in time. `abandoned`: we gave up on it ourselves, so that it
 * says nothing about the receiver. `ownFault`: our own network failed, which is not charged to the endpoint.
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
 * Posts an event once, with a timestamp and a signature of its own over the path of the callback URL.
 * Rejects only when no signing key could be had. contract: Webhook signing, Delivery
 */
export async function makeAttempt(courier: Courier, attempt: AttemptToMake): Promise<AttemptResult> {
  const key = await courier.signingKeyOf(attempt.lenderId);
  const startedAt = courier.now();
  const headers = signedHeaders(attempt, key, startedAt);
  const answer = await courier.outbound.request({
    method: "POST",
    url: attempt.url,
    headers,
    body: attempt.body,
    timeoutMs: courier.timeoutMs,
    ...(attempt.signal && { signal: attempt.signal }),
  });
  const request = { url: attempt.url, headers, body: attempt.body };
  return { request, startedAt, durationMs: answer.durationMs, ...judge(answer) };
}

/**
 * The request that an attempt would send now. Its receiver takes it for five minutes. Rejects when no signing key could
 * be had. contract: Webhook signing, Delivery
 *
 * @example
 * const body = JSON.stringify({ eventId: publicId("evt", eventId), kind: "ping", sequence: null });
 * const attempt = { lenderId, url: "https://lender.example/hooks", eventId, kind: "ping", number: 1, body };
 * const { url, headers } = await signedRequest(courier, attempt);
 */
export async function signedRequest(
  { signingKeyOf, now }: Pick<Courier, "signingKeyOf" | "now">,
  attempt: AttemptToMake,
): Promise<SentRequest> {
  const key = await signingKeyOf(attempt.lenderId);
  const headers = signedHeaders(attempt, key, now());
  return { url: attempt.url, headers, body: attempt.body };
}

function signedHeaders(attempt: AttemptToMake, key: WebhookKey, at: Date): Record<string, string> {
  const timestamp = String(at.getTime());
  // The parser's path is the one that goes on the request line; an unreadable URL is refused by the outbound door.
  const path = URL.parse(attempt.url)?.pathname ?? "/";
  return {
    "Content-Type": "application/json",
    "User-Agent": USER_AGENT,
    [HEADERS.event]: attempt.kind,
    [HEADERS.delivery]: publicId("evt", attempt.eventId),
    [HEADERS.attempt]: String(attempt.number),
    [HEADERS.keyId]: key.keyId,
    [HEADERS.timestamp]: timestamp,
    [HEADERS.signature]: sign({ method: "POST", path, timestamp, body: attempt.body, secret: key.secret }),
    ...(attempt.replay === true && { [HEADERS.replay]: "true" }),
  };
}

type Judgement = Pick<AttemptResult, "outcome" | "answer" | "error" | "ownFault">;

function judge(answer: OutboundAnswer): Judgement {
  if (answer.kind === "failure") {
    const { code, detail, ownFault } = answer;
    if (code === "ABORTED") return { outcome: "abandoned", answer: null, error: null, ownFault };
    return { outcome: "failed", answer: null, error: { code, detail }, ownFault };
  }
  const kept = { status: answer.status, headers: answer.headers, body: textOf(answer.body) };
  const error = errorOfStatus(answer.status);
  return { outcome: error === null ? "delivered" : "failed", answer: kept, error, ownFault: false };
}

function errorOfStatus(status: number): AttemptError | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) {
    const detail = `The callback answered ${status}. Redirects are not followed: register the URL that it leads to.`;
    return { code: "REDIRECT", detail };
  }
  return { code: "NON_2XX", detail: `The callback answered ${status}; any 2xx acknowledges.` };
}

/** The first 2 KB as text that PostgreSQL can keep: a character cut in two is dropped, no NUL, no broken UTF-8. */
function textOf(body: Uint8Array): string {
  if (body.length === 0) return "";
  const isCut = body.length > KEPT_BODY_BYTES;
  return new TextDecoder().decode(body.subarray(0, KEPT_BODY_BYTES), { stream: isCut }).replaceAll("\0", "\uFFFD");
}
