import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

const FIVE_MINUTES_MS = 300_000;

/**
 * A customer's receiver. It needs none of the `@collections` packages, because the signature is a plain HMAC-SHA256.
 */
export async function startReceiver(secret) {
  const events = new Map(); // in production: a table, written in the transaction that processes the event
  const server = createServer((request, response) => {
    const answer = (status) => response.writeHead(status).end();
    receive(request, secret, events).then(answer, () => answer(500));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}/hooks`,
    events,
    close: () => server.close().closeAllConnections(),
  };
}

/** Returns the status of the answer. */
async function receive(request, secret, events) {
  const body = Buffer.concat(await request.toArray());
  if (!isGenuine(request, body, secret)) return 401;
  // The same event may arrive more than once. Its id is then the same, so the map keeps one event.
  const event = JSON.parse(body);
  events.set(event.eventId, event);
  return 204;
}

/** Verifies the signature over the received bytes, before anything is parsed. */
function isGenuine(request, body, secret) {
  const timestamp = request.headers["x-acme-timestamp"] ?? "";
  if (!(Math.abs(Date.now() - Number(timestamp)) < FIVE_MINUTES_MS)) return false;
  const [path] = request.url.split("?");
  const signed = Buffer.concat([Buffer.from(`${request.method}\n${path}\n${timestamp}\n`), body]);
  const expected = createHmac("sha256", secret).update(signed).digest();
  const given = Buffer.from(request.headers["x-acme-signature"] ?? "", "hex");
  return given.length === expected.length && timingSafeEqual(given, expected);
}
