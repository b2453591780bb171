import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** The maximum difference of a request's timestamp from our clock (contract: Limits). */
export const TIMESTAMP_TOLERANCE_MS = 5 * 60 * 1000;

/** The parts that a signature covers. `path` ends before the `?`, `timestamp` is in Unix milliseconds. */
export interface SignedParts {
  method: string;
  path: string;
  timestamp: string;
  body: string | Uint8Array;
}

/** The lower-case hexadecimal signature over the canonical string (contract: Signature). */
export function sign(hmacSecret: string, { method, path, timestamp, body }: SignedParts): string {
  return createHmac("sha256", hmacSecret)
    .update(`${method.toUpperCase()}\n${path}\n${timestamp}\n`)
    .update(body)
    .digest("hex");
}

/** A request as it was received, not verified yet. */
export interface ReceivedRequest {
  method: string;
  /** The request target up to the `?`, with its percent-encoding. */
  path: string;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
}

/** The reason why a request from the service cannot be trusted, or null (contract: Webhook signing).
 * @param secrets the lender's secrets by key id
 */
export function distrustReason(
  request: ReceivedRequest,
  secrets: ReadonlyMap<string, string>,
  nowMs: number,
): string | null {
  const timestamp = request.headers["x-service-timestamp"];
  const signature = request.headers["x-service-signature"];
  if (typeof timestamp !== "string" || typeof signature !== "string") return "timestamp or signature is missing";
  if (!/^\d{13}$/.test(timestamp)) return `the timestamp ${timestamp} is not in Unix milliseconds`;
  const ageMs = nowMs - Number(timestamp);
  if (Math.abs(ageMs) > TIMESTAMP_TOLERANCE_MS) return `the timestamp is ${ageMs} ms old, the tolerance is ±5 minutes`;
  if (!/^[0-9a-f]{64}$/i.test(signature)) return "the signature is not 64 hex digits";

  const { method, path, rawBody: body } = request;
  const given = Buffer.from(signature, "hex");
  const matches = candidates(secrets, request.headers["x-service-key-id"]).some((secret) =>
    timingSafeEqual(Buffer.from(sign(secret, { method, path, timestamp, body }), "hex"), given),
  );
  return matches ? null : "the signature does not match any of our secrets for its key id";
}

/**
 * During a rotation two secrets are valid. The service names the key that it used; without a name, every secret is
 * tried.
 */
function candidates(secrets: ReadonlyMap<string, string>, keyId: string | string[] | undefined): string[] {
  if (typeof keyId !== "string") return [...secrets.values()];
  const named = secrets.get(keyId);
  return named === undefined ? [] : [named];
}
