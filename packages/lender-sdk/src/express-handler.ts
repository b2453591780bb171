import type { Receiver, ReceiverAnswer } from "./receiver.ts";
import { ReceiverError } from "./receiver-error.ts";

/** What is used of a request of Express or of node:http. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Express: the path before routers took their part of it. */
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly readableDidRead: boolean;
  readonly readableEnded: boolean;
  on(event: string, listener: (chunk: Uint8Array) => void): unknown;
}

/** What is used of a response of Express or of node:http. */
export interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

const PARSED = `A body parser has read the webhook's body before the receiver, and the signature is over its exact bytes. \
Mount the receiver before app.use(express.json()), or give its route express.raw({ type: () => true }).`;

class SenderLeftError extends Error {
  override readonly name = "SenderLeftError";
}

/**
 * Connects a receiver to Express, or to node:http. It reads the raw body itself; a Buffer that `express.raw()` left in
 * `req.body`, or that `express.json({ verify })` was made to keep in `req.rawBody`, is taken too.
 *
 * @example
 * app.post("/hooks/collections", expressHandler(receiver)); // before any body parser
 */
export function expressHandler(receiver: Receiver): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  return async (request, response) => {
    try {
      send(response, await answerTo(request, receiver));
    } catch (error) {
      if (!(error instanceof SenderLeftError)) send(response, receiver.fail(error));
    }
  };
}

async function answerTo(request: NodeRequest, receiver: Receiver): Promise<ReceiverAnswer> {
  const { method = "", headers } = request;
  const [path = ""] = (request.originalUrl ?? request.url ?? "").split("?", 1);
  const body = keptBytes(request) ?? (await readBody(request, receiver.maxBodyBytes));
  return receiver.receive({ method, path, headers, body });
}

/** The bytes, where somebody has read and kept them. Throws BODY_ALREADY_PARSED where they are gone. */
function keptBytes(request: NodeRequest): Uint8Array | undefined {
  const { rawBody, body } = request as { rawBody?: unknown; body?: unknown };
  if (rawBody instanceof Uint8Array) return rawBody;
  if (body instanceof Uint8Array) return body;
  if (!request.readableDidRead && !request.readableEnded) return undefined;
  throw new ReceiverError(500, "BODY_ALREADY_PARSED", PARSED);
}

/** Reads up to one byte more than allowed: enough to know that it is too much. */
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
    request.on("close", () => reject(new SenderLeftError("The sender left before its body was whole.")));
  });
}

function send(response: NodeResponse, { status, body }: ReceiverAnswer): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json");
  // What is left of a body that is too large is not worth reading.
  if (status === 413) response.setHeader("Connection", "close");
  response.end(JSON.stringify(body));
}
