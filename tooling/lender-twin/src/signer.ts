import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** A request may be this much older or newer than our clock (contract: Limits). */
export const TIMESTAMP_TOLERANCE_MS = 5 * 60 * 1000;

/** What a signature covers; `path` ends before the `?`, `timestamp` is in Unix milliseconds. */
export interface SignedParts {
  method: string;
  path: string;
  timestamp: string;
  body: string | Uint8Array;
}

/** The lower-case hex signature over the canonical string (contract: Signature). */
export function sign(hmacSecret: string, { method, path, timestamp, body }: SignedParts): string {
  return createHmac("sha256", hmacSecret)
    .update(`${method.toUpperCase()}\n${path}\n${timestamp}\n`)
    .update(body)
    .digest("hex");
}

/** A request as it came from the socket, before anybody has trusted it. */
export interface ReceivedRequest {
  method: string;
  /** The request target up to the `?`, percent-encoding untouched. */
  path: string;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
}

/** Says why a request from the service cannot be trusted, or null when it can (contract: Webhook signing).
 * @param secrets the secrets that this lender holds, by key id
 */
export function whyUntrusted(
  request: ReceivedRequest,
  secrets: ReadonlyMap<string, string>,
  nowMs: number,
): string | null {
  const timestamp = request.headers["x-service-timestamp"];
  const signature = request.headers["x-service-signature"];
  if (typeof timestamp !== "string" || typeof signature !== "string") return "it carries no timestamp or no signature";
  if (!/^\d{13}$/.test(timestamp)) return `the timestamp ${timestamp} is not in Unix milliseconds`;
  const ageMs = nowMs - Number(timestamp);
  if (Math.abs(ageMs) > TIMESTAMP_TOLERANCE_MS) return `the timestamp is ${ageMs} ms old, the tolerance is ±5 minutes`;
  if (!/^[0-9a-f]{64}$/i.test(signature)) return "the signature is not 64 hex digits";

  const { method, path, rawBody: body } = request;
  const given = Buffer.from(signature, "hex");
  const matches = candidates(secrets, request.headers["x-service-key-id"]).some((secret) =>
    timingSafeEqual(Buffer.from(sign(secret, { method, path, timestamp, body }), "hex"), given),
  );
  return matches ? null : "the signature does not match any secret that we hold for it";
}

/** While a key is rotated two secrets are valid: the service names the one that it used, else every one is tried. */
function candidates(secrets: ReadonlyMap<string, string>, keyId: string | string[] | undefined): string[] {
  if (typeof keyId !== "string") return [...secrets.values()];
  const named = secrets.get(keyId);
  return named === undefined ? [] : [named];
}
