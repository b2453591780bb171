import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { verifyWebhook, WebhookNotVerifiedError } from "@collections/signing";

/** A merchant's endpoint. It is down for the first `down` requests, and then processes each signed event once. */
export async function startReceiver(secret: string, { down }: { down: number }) {
  let requests = 0;
  const taken = new Set<string>(); // in production: a table, written in the transaction that processes the event
  const server = createServer((request, response) => {
    const isDown = (requests += 1) <= down;
    const answer = (status: number) => response.writeHead(status).end();
    (isDown ? Promise.resolve(503) : receive(request, secret, taken)).then(answer, () => answer(500));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hooks`, taken, close: () => server.close().closeAllConnections() };
}

/**
 * Verifies the signature over the received bytes before it parses them. Stores the event's id, because an event may
 * arrive again.
 */
async function receive(request: IncomingMessage, secret: string, taken: Set<string>): Promise<number> {
  const body = Buffer.concat((await request.toArray()) as Buffer[]);
  try {
    verifyWebhook({ headers: request.headers, path: request.url ?? "", body }, { secret });
  } catch (error) {
    if (error instanceof WebhookNotVerifiedError) return 401;
    throw error;
  }
  const { eventId, kind } = JSON.parse(body.toString()) as { eventId: string; kind: string };
  if (kind !== "ping") taken.add(eventId);
  return 200;
}
