import type { Receiver, ReceiverAnswer } from "./receiver.ts";
import { ReceiverError } from "./receiver-error.ts";

/** The part of an Express or node:http request that the handler uses. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** In Express: the path as requested, before routers removed their mount path. */
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly readableDidRead: boolean;
  readonly readableEnded: boolean;
  on(event: string, listener: (chunk: Uint8Array) => void): unknown;
}

/** The part of an Express or node:http response that the handler uses. */
export interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

const ALREADY_PARSED = `A body parser read the webhook's body before the receiver did, but the signature covers the exact bytes. \
Mount the receiver before app.use(express.json()), or give its route express.raw({ type: () => true }).`;

class ConnectionClosedError extends Error {
  override readonly name = "ConnectionClosedError";
}

/**
 * Connects a receiver to Express or node:http. The handler reads the raw body itself. It also accepts a Buffer in
 * `req.body` (from `express.raw()`) or in `req.rawBody` (from a `verify` function of `express.json()`).
 *
 * @example
 * app.post("/hooks/collections", expressHandler(receiver)); // before any body parser
 */
export function expressHandler(receiver: Receiver): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  return async (request, response) => {
    try {
      send(response, await answerTo(request, receiver));
    } catch (error) {
      if (!(error instanceof ConnectionClosedError)) send(response, receiver.fail(error));
    }
  };
}

async function answerTo(request: NodeRequest, receiver: Receiver): Promise<ReceiverAnswer> {
  const { method = "", headers } = request;
  const [path = ""] = (request.originalUrl ?? request.url ?? "").split("?", 1);
  const body = keptBytes(request) ?? (await readBody(request, receiver.maxBodyBytes));
  return receiver.receive({ method, path, headers, body });
}

/**
 * Returns the raw bytes if a body parser kept them. Throws BODY_ALREADY_PARSED if a parser read the body without
 * keeping them.
 */
function keptBytes(request: NodeRequest): Uint8Array | undefined {
  const { rawBody, body } = request as { rawBody?: unknown; body?: unknown };
  if (rawBody instanceof Uint8Array) return rawBody;
  if (body instanceof Uint8Array) return body;
  if (!request.readableDidRead && !request.readableEnded) return undefined;
  throw new ReceiverError(500, "BODY_ALREADY_PARSED", ALREADY_PARSED);
}

/** Reads at most one byte more than allowed, which is enough to detect an oversized body. */
function readBody(request: NodeRequest, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const body = new Uint8Array(maxBytes + 1);
    let length = 0;
    request.on("data", (chunk: Uint8Array) => {
      if (length > maxBytes) return;
      const taken = chunk.subarray(0, body.length - length);
      body.set(taken, length);
      length += taken.length;
      if (length > maxBytes) resolve(body);
    });
    request.on("end", () => resolve(body.slice(0, length)));
    request.on("error", reject);
    request.on("close", () =>
      reject(new ConnectionClosedError("The sender closed the connection before the end of the body.")),
    );
  });
}

function send(response: NodeResponse, { status, body }: ReceiverAnswer): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json");
  // Do not read the rest of an oversized body.
  if (status === 413) response.setHeader("Connection", "close");
  response.end(JSON.stringify(body));
}
