import { createHash } from "node:crypto";
import type { SignedRequest } from "./request-context.ts";

/**
 * A UUID of a request: the same for one that is sent again byte by byte, as its signature says, and another for any other
 * request. The query string is not signed, so it counts too.
 */
export function idOfRequest({ keyId, headers, query }: SignedRequest): string {
  const signature = String(headers["x-service-signature"]).trim().toLowerCase();
  const hash = createHash("sha256").update(`${keyId}\n${signature}\n${query.toString()}`).digest("hex");
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
