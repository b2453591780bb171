import { createHash } from "node:crypto";
import type { RequestHandler } from "express";

/** Serves the OpenAPI document, which is made at the first request. */
export function openApiFile(openApi: () => object): RequestHandler {
  let made: { text: string; etag: string } | undefined;
  return (_, response) => {
    made ??= fileOf(JSON.stringify(openApi()));
    response.set({ "Cache-Control": "no-cache", ETag: made.etag }).type("application/json").send(made.text);
  };
}

function fileOf(text: string): { text: string; etag: string } {
  return { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
}
