import type { Receiver, ReceiverAnswer } from "./receiver.ts";
import { ReceiverError } from "./receiver-error.ts";

const ALREADY_READ =
  "The webhook's body was read before the receiver got it, but the signature covers the exact bytes.";

/**
 * Connects a receiver to frameworks that use the Request and Response of fetch: Next.js, Hono, Bun, Deno, workers.
 *
 * @example
 * const handle = fetchHandler(receiver);
 * const response = await handle(new Request("https://lender.example/hooks/collections", { method: "POST", body }));
 */
export function fetchHandler(receiver: Receiver): (request: Request) => Promise<Response> {
  return async (request) => {
    const answer = await answerTo(request).catch((error: unknown) => receiver.fail(error));
    return Response.json(answer.body, { status: answer.status });
  };

  async function answerTo(request: Request): Promise<ReceiverAnswer> {
    if (request.bodyUsed) return receiver.fail(new ReceiverError(500, "BODY_ALREADY_PARSED", ALREADY_READ));
    const { method, headers } = request;
    const path = new URL(request.url).pathname;
    return receiver.receive({ method, path, headers, body: await readBody(request, receiver.maxBodyBytes) });
  }
}

/** Stops reading at the chunk that makes the body too large. */
async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
    if (done || value === undefined) break;
    chunks.push(value);
    length += value.length;
    if (length > maxBytes) {
      await reader?.cancel();
      break;
    }
  }
  const body = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return body;
}
