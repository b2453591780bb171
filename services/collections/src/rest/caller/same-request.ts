import { createHash } from "node:crypto";
import type { SignedRequest } from "./signed-request.ts";

/**
 * Derives the UUID of a signed request. A repeat of the request has the same UUID. The UUID is derived from the key id
 * and the signature, which covers method, path, timestamp and body. The query string is not signed, so it does not
 * count: otherwise signed bytes with another query string would be a new request.
 */
export function idOfRequest({ keyId, headers }: SignedRequest): string {
  const signature = String(headers["x-service-signature"]).trim().toLowerCase();
  // Keep the trailing newline: with it, a request without a query string has the same id as in earlier versions.
  const hash = createHash("sha256").update(`${keyId}\n${signature}\n`).digest("hex");
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
