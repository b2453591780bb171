import { readRequestTarget } from "@collections/signing";
import type { IncomingMessage } from "node:http";

/**
 * Reduces a target that is a whole URL (`GET http://host/path`) to its path, for routing and for the signature. The host
 * of the URL replaces the Host header (RFC 9112, 3.2.2). A missing Host header stays missing: HTTP/1.1 requires it.
 */
export function reduceAbsoluteTarget(request: IncomingMessage): void {
  const { path, host } = readRequestTarget(request.url ?? "");
  if (host === undefined) return;
  request.url = path;
  if (request.headers.host !== undefined) request.headers.host = host;
}
