import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";

/** The maximum number of bytes that the service reads of an answer. This kit has the same limit. contract: Callback */
const MAX_BODY_BYTES = 64 * 1024;

/** One request; `headers` are sent unchanged. */
export interface RequestToSend {
  readonly method: "GET" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The outcome of a request. `statusMs` is the time until the status line, `totalMs` until the end of the body. `cut` is
 * the reason why the body was not read to its end.
 */
export type Outcome =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: IncomingMessage["headers"];
      readonly body: Buffer;
      readonly cut: false | "too large" | "too slow" | "broken";
      readonly statusMs: number;
      readonly totalMs: number;
    }
  | { readonly kind: "failure"; readonly isTimeout: boolean; readonly detail: string; readonly totalMs: number };

/** Sends one request on a new connection and waits at most `timeoutMs` for the complete answer. Follows no redirect. */
export function exchange(toSend: RequestToSend, timeoutMs: number): Promise<Outcome> {
  const startedAt = performance.now();
  const elapsedMs = () => Math.round(performance.now() - startedAt);
  return new Promise((resolve) => {
    const send = toSend.url.protocol === "https:" ? requestHttps : requestHttp;
    const body = Buffer.from(toSend.body);
    const headers = { ...toSend.headers, ...(toSend.method === "POST" && { "Content-Length": String(body.length) }) };
    const request = send(toSend.url, { method: toSend.method, headers, agent: false });
    const deadline = setTimeout(() => {
      resolve({ kind: "failure", isTimeout: true, detail: `no answer within ${timeoutMs} ms`, totalMs: elapsedMs() });
      request.destroy();
    }, timeoutMs);
    request.once("response", (response) => {
      clearTimeout(deadline);
      const leftMs = timeoutMs - (performance.now() - startedAt);
      resolve(readAnswer(response, elapsedMs, leftMs).finally(() => request.destroy()));
    });
    request.on("error", (error) => {
      clearTimeout(deadline);
      resolve({ kind: "failure", isTimeout: false, detail: detailOf(error), totalMs: elapsedMs() });
    });
    request.end(body);
  });
}

async function readAnswer(response: IncomingMessage, elapsedMs: () => number, leftMs: number): Promise<Outcome> {
  const statusMs = elapsedMs();
  const read = await readBody(response, leftMs);
  const { statusCode: status = 0, headers } = response;
  const { body, cut } = read.cut === false ? decoded(read.body, headers["content-encoding"]) : read;
  return { kind: "answer", status, headers, body, cut, statusMs, totalMs: elapsedMs() };
}

type Body = Pick<Extract<Outcome, { kind: "answer" }>, "body" | "cut">;

function readBody(response: IncomingMessage, leftMs: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve) => {
    const end = (cut: Body["cut"]) => {
      clearTimeout(deadline);
      resolve({ body: Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES), cut });
    };
    const deadline = setTimeout(() => end("too slow"), leftMs);
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) end("too large");
    });
    response.once("end", () => end(false));
    response.once("error", () => end("broken"));
    response.once("close", () => end("broken"));
  });
}

/**
 * Decodes a body as the service does, although no request asks for a compressed answer. A body in another coding stays as
 * it is.
 */
function decoded(body: Buffer, coding = ""): Body {
  const decode = DECODERS[coding.trim().toLowerCase()];
  if (!decode || body.length === 0) return { body, cut: false };
  try {
    return { body: decode(body, { maxOutputLength: MAX_BODY_BYTES }), cut: false };
  } catch (error) {
    return { body, cut: (error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE" ? "too large" : false };
  }
}

const DECODERS: Readonly<Record<string, typeof gunzipSync>> = {
  gzip: gunzipSync,
  "x-gzip": gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/** Returns Node's error message, or an explanation if the message is terse. */
export function detailOf(error: Error & { code?: string }): string {
  const { code = "" } = error;
  if (code === "ECONNREFUSED") return "connection refused: nothing listens on this port (ECONNREFUSED)";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `the host name is unknown (${code})`;
  if (code === "ECONNRESET" || code === "EPIPE") return `the connection was closed without an answer (${code})`;
  // An error of OpenSSL: its message has the place in OpenSSL's source code.
  if ("library" in error && "reason" in error) return `TLS failed: ${String(error.reason)} (${code})`;
  return `${error.message || "the connection failed"}${code === "" ? "" : ` (${code})`}`;
}
