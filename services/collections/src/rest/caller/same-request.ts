import { createHash } from "node:crypto";
import type { SignedRequest } from "./signed-request.ts";

/**
 * The UUID of a request: its key id and its signature, which covers method, path, timestamp and body. The query string is
 * not signed and does not count, so that nobody can make a new request of signed bytes by changing it.
 */
export function idOfRequest({ keyId, headers }: SignedRequest): string {
  const signature = String(headers["x-service-signature"]).trim().toLowerCase();
  // The trailing newline keeps ids of requests without a query string equal to those of earlier versions.
  const hash = createHash("sha256").update(`${keyId}\n${signature}\n`).digest("hex");
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
