import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { checkTimestamp, HEADERS, verify } from "@collections/signing";

/** Somebody's endpoint: it is down for so many requests, and then takes whatever is genuine. */
export async function startReceiver(secret: string, { down }: { down: number }) {
  let requests = 0;
  const server = createServer((request, response) => {
    const isDown = (requests += 1) <= down;
    const answer = (isGenuine: boolean) => response.writeHead(isDown ? 503 : isGenuine ? 200 : 401).end();
    hasSigned(secret, request).then(answer, console.error);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hooks`, close: () => server.close().closeAllConnections() };
}

async function hasSigned(secret: string, request: IncomingMessage): Promise<boolean> {
  const body = Buffer.concat((await request.toArray()) as Buffer[]);
  const [timestamp = "", signature = ""] = [HEADERS.timestamp, HEADERS.signature].map((name) =>
    String(request.headers[name.toLowerCase()]),
  );
  const signed = { method: "POST", path: request.url ?? "", timestamp, body, signature };
  return verify({ ...signed, secret }) && checkTimestamp(timestamp, Date.now()).ok;
}
