import { HEADERS, sign } from "@collections/signing";

/** A request that is about to be sent. */
export interface OutgoingRequest {
  readonly method: string;
  readonly url: string;
  /** The text to send; undefined if there is no body. */
  readonly body?: string | undefined;
}

/** The API key with which a request is signed. */
export interface Key {
  readonly keyId: string;
  readonly secret: string;
}

/**
 * Returns the headers that sign a request. The signature covers the path as a browser sends it, and the exact body.
 * contract: Authentication
 */
export function signedHeaders(request: OutgoingRequest, { keyId, secret }: Key, nowMs: number): Record<string, string> {
  const timestamp = String(nowMs);
  const { pathname } = new URL(request.url);
  const parts = { method: request.method.toUpperCase(), path: pathname, timestamp, body: request.body ?? "" };
  return {
    Authorization: `Bearer ${keyId}`,
    [HEADERS.timestamp]: timestamp,
    [HEADERS.signature]: sign({ secret, ...parts }),
  };
}
