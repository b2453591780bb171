import { curlRequest } from "./paste-curl.ts";
import { rawRequest } from "./paste-http.ts";
import type { PastedRequest } from "./pasted-request.ts";

/** Thrown if a text is neither a curl command nor an HTTP request. */
export class UnreadablePasteError extends Error {
  override readonly name = "UnreadablePasteError";
  readonly code = "UNREADABLE_PASTE";

  constructor() {
    super("This is neither a curl command nor a request that begins with a line such as GET /path HTTP/1.1.");
  }
}

/** Reads a curl command, or an HTTP request as in logs and in the output of `curl -v`. Throws UnreadablePasteError. */
export function readPasted(text: string): PastedRequest {
  const request = rawRequest(text) ?? curlRequest(text);
  if (!request) throw new UnreadablePasteError();
  return request;
}
