import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { selfSigned } from "./self-signed.ts";

/** For tests: called for each request that the origin has read completely. Sends the answer through the socket. */
export type OriginScript = (socket: Socket, request: string, requestNumber: number) => void;

/** For tests: a server on 127.0.0.1 that sends exactly the bytes of a script, valid or not. */
export type ScriptedOrigin = AsyncDisposable & {
  readonly port: number;
  readonly url: string;
  /** All received requests as text: head, empty line, body. */
  readonly requests: string[];
  connections: number;
  readonly server: Server;
};

/**
 * Opens an origin that runs the script for every request. Over TLS it prefers HTTP/2.
 * `await using` closes it with all its sockets.
 */
export async function openOrigin(script: OriginScript, tls?: "tls" | TlsOptions): Promise<ScriptedOrigin> {
  const tlsOptions = { ...selfSigned, ALPNProtocols: ["h2", "http/1.1"], ...(tls === "tls" ? {} : tls) };
  const server = tls === undefined ? createServer() : createTlsServer(tlsOptions);
  const sockets = new Set<Socket>();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const origin: ScriptedOrigin = {
    port,
    url: `http://127.0.0.1:${port}`,
    requests: [],
    connections: 0,
    server,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  server.on("connection", (socket: Socket) => {
    origin.connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
    socket.on("error", () => undefined);
    readRequests(socket, (request) => {
      origin.requests.push(request);
      script(socket, request, origin.requests.length);
    });
  });
  return origin;
}

/** Returns the text of a complete answer. It leaves the connection open. */
export function answer(status: string, body = "", headers: string[] = []): string {
  return ["HTTP/1.1 " + status, `Content-Length: ${Buffer.byteLength(body)}`, ...headers, "", body].join("\r\n");
}

/** Sends `first`, then `more` repeatedly, as fast as the client reads. */
export function pour(socket: Socket, first: string | Buffer, more: string): void {
  const pourOn = (): void => {
    while (!socket.destroyed && socket.write(more));
  };
  socket.write(first);
  socket.on("drain", pourOn);
  pourOn();
}

/** Sends `first` and `more`, then `more` again every 10 ms. */
export function drip(socket: Socket, first: string | Buffer, more: string): void {
  socket.write(first);
  socket.write(more);
  const dripping = setInterval(() => socket.write(more), 10);
  socket.on("close", () => clearInterval(dripping));
}

function readRequests(socket: Socket, onRequest: (request: string) => void): void {
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    for (;;) {
      const headEnd = received.indexOf("\r\n\r\n");
      if (headEnd < 0) return;
      const bodyBytes = Number(/^content-length: (\d+)/im.exec(received)?.[1] ?? 0);
      const end = headEnd + 4 + bodyBytes;
      if (received.length < end) return;
      const request = received.slice(0, end);
      received = received.slice(end);
      onRequest(request);
    }
  });
}
