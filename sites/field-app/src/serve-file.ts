import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { madeOnce } from "@collections/web-pages";
import type { RequestHandler } from "express";

const TO = { br: promisify(brotliCompress), gzip: promisify(gzip) };

export interface ServedText {
  readonly type: string;
  readonly text: string;
  /** Whether the content at this URL never changes. Browsers then do not ask again. */
  readonly isImmutable: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Serves a text, compressed as the browser accepts it. Each encoding is made once, at its first request. */
export function serveText({ type, text, isImmutable, headers = {} }: ServedText): RequestHandler {
  const compressed = {
    br: madeOnce(() => TO.br(text)),
    gzip: madeOnce(() => TO.gzip(text)),
    identity: madeOnce(async () => Buffer.from(text)),
  };
  return async (request, response) => {
    const encoding = (request.acceptsEncodings("br", "gzip", "identity") || "identity") as keyof typeof compressed;
    const body = await compressed[encoding]();
    response.set({
      ...headers,
      "Cache-Control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
      Vary: "Accept-Encoding",
      ...(encoding !== "identity" && { "Content-Encoding": encoding }),
    });
    response.type(type).send(body);
  };
}
