import { HEADERS, sign } from "@collections/signing";

/** A request that is about to be sent. */
export interface OutgoingRequest {
  readonly method: string;
  readonly url: string;
  /** What is sent, as text; undefined where there is nothing. */
  readonly body?: string | undefined;
}

/** Whose key signs. */
export interface Key {
  readonly keyId: string;
  readonly secret: string;
}

/** The headers that sign a request (contract: Authentication): over the path as a browser sends it, and the exact body. */
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
