import {
  checkTimestamp,
  HEADERS,
  readRequestTarget,
  type Secret,
  type TimestampVerdict,
  verify,
} from "@collections/signing";

/**
 * Your secrets by the id of the API key. During a key rotation, pass the secrets of both keys. A function may read the
 * secrets from a vault.
 */
export type Secrets =
  | Readonly<Record<string, Secret>>
  | ((keyId: string) => Secret | undefined | Promise<Secret | undefined>);

/** Headers of Node, of fetch, or a plain object. */
export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request that claims to come from the service: a webhook or a mint call. */
export interface ReceivedRequest {
  readonly method: string;
  /**
   * The path as it was requested, with its percent-encoding. Everything from `?` on is ignored, and so are the scheme and
   * the host of a whole URL, which some proxies send.
   */
  readonly path: string;
  readonly headers: HeaderSource;
  /** The bytes as they arrived. */
  readonly body: Uint8Array | string;
}

/** Whether the request is authentic and, if not, the reason. You may send `detail` to the caller. */
export type RequestVerdict =
  | { readonly ok: true; readonly keyId: string }
  | {
      readonly ok: false;
      readonly code:
        | "MISSING_KEY_ID"
        | "MISSING_SIGNATURE"
        | "UNKNOWN_KEY"
        | "BAD_SIGNATURE"
        | Exclude<TimestampVerdict, { ok: true }>["code"];
      readonly detail: string;
    };

/**
 * Checks that the service signed this request, at most five minutes before or after `nowMs`. The receiver does this for
 * webhooks; call it in your mint endpoint. contract: Webhook signing
 *
 * @example
 * const request = { method: "POST", path: "/mint-link", headers, body };
 * const verdict = await verifyRequest(request, { lk_sandbox_7f3a: secret });
 * if (!verdict.ok) throw new Error(`${verdict.code}: ${verdict.detail}`);
 */
export async function verifyRequest(
  request: ReceivedRequest,
  secrets: Secrets,
  nowMs: number = Date.now(),
): Promise<RequestVerdict> {
  const { method, headers, body } = request;
  const { path } = readRequestTarget(request.path);
  const keyId = headerOf(headers, HEADERS.keyId);
  if (!keyId) return { ok: false, code: "MISSING_KEY_ID", detail: `The ${HEADERS.keyId} header is missing.` };
  const signature = headerOf(headers, HEADERS.signature);
  if (!signature)
    return { ok: false, code: "MISSING_SIGNATURE", detail: `The ${HEADERS.signature} header is missing.` };
  const timestamp = headerOf(headers, HEADERS.timestamp);
  const clock = checkTimestamp(timestamp, nowMs);
  if (!clock.ok) return { ok: false, code: clock.code, detail: clockDetail(clock) };
  const secret = await secretOf(keyId, secrets);
  if (secret === undefined) {
    return { ok: false, code: "UNKNOWN_KEY", detail: `This receiver has no secret for the key ${keyId}.` };
  }
  if (verify({ secret, method, path, timestamp: timestamp ?? "", body, signature })) return { ok: true, keyId };
  const detail = `The signature over ${method} ${path.split("?", 1)[0]} and the body does not match.`;
  return { ok: false, code: "BAD_SIGNATURE", detail };
}

async function secretOf(keyId: string, secrets: Secrets): Promise<Secret | undefined> {
  if (typeof secrets === "function") return secrets(keyId);
  return Object.hasOwn(secrets, keyId) ? secrets[keyId] : undefined;
}

function headerOf(headers: HeaderSource, name: string): string | undefined {
  if (typeof headers.get === "function") return (headers as Headers).get(name) ?? undefined;
  const wanted = name.toLowerCase();
  const record = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  const value = record[wanted] ?? Object.entries(record).find(([key]) => key.toLowerCase() === wanted)?.[1];
  return typeof value === "string" ? value : undefined;
}

function clockDetail({ code, skewMs, hint }: Exclude<TimestampVerdict, { ok: true }>): string {
  const distance =
    skewMs === undefined ? "" : ` It is ${Math.abs(skewMs)} ms ${skewMs > 0 ? "behind" : "ahead of"} this clock.`;
  const words = {
    MISSING_TIMESTAMP: `The ${HEADERS.timestamp} header is missing.`,
    MALFORMED_TIMESTAMP: `${HEADERS.timestamp} is not a number of milliseconds.`,
    TIMESTAMP_OUT_OF_RANGE: `${HEADERS.timestamp} differs from this server's clock by more than five minutes.${distance}`,
  };
  return hint === undefined ? words[code] : `${words[code]} (${hint})`;
}
