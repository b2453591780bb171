import { STATUS_CODES, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { newId, publicId } from "@collections/database";
import { Problem, problemBody, problemHeaders } from "./problem.ts";

const LINGER_MS = 1_000;

/**
 * The problem to answer for each error code of Node's HTTP server. Any other code means that the bytes are not HTTP.
 */
const PROBLEMS: Readonly<Record<string, () => Problem>> = {
  HPE_HEADER_OVERFLOW: () =>
    new Problem("HEADERS_TOO_LARGE", "Request line and headers may have 16 KiB together; send less."),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () =>
    new Problem(
      "MALFORMED_HTTP",
      "The chunks of the body have extensions of more than 16 KiB; send chunks without extensions.",
    ),
  ERR_HTTP_REQUEST_TIMEOUT: tooSlow,
};

/**
 * Makes a server answer malformed and incomplete requests with a problem, as it answers every other refused request
 * (contract: Errors). Without this, Node answers with a bare status line. The `type` of each problem is below
 * `documentationUrl`.
 */
export function answerUnreadable(server: Server, documentationUrl: string): void {
  const answers = new WeakMap<Duplex, ServerResponse>();
  const refused = new WeakSet<Duplex>();
  server.on("request", ({ socket }, response) => answers.set(socket, response));
  // Only `Expect: 100-continue` has a meaning here. Any other `Expect` header is ignored.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_, socket) =>
    end(
      socket,
      new Problem("ROUTE_NOT_FOUND", "This server is not a proxy: CONNECT is not supported."),
      documentationUrl,
    ),
  );
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // Answer only the first error: each further part that a refused client sends causes another one.
    if (refused.has(socket)) return;
    refused.add(socket);
    // If an answer has begun, close the connection: the client would read a problem as the rest of that answer.
    if (isHalfway(answers.get(socket)) || !socket.writable) socket.destroy(error);
    else end(socket, PROBLEMS[error.code ?? ""]?.() ?? noHttp(error), documentationUrl);
  });
}

function isHalfway(answer: ServerResponse | undefined): boolean {
  return answer !== undefined && answer.headersSent && !answer.writableFinished;
}

/** Returns the problem for a request that arrives too slowly (contract: Limits). */
export function tooSlow(): Problem {
  return new Problem("REQUEST_TIMEOUT", "The request did not arrive in time; send the same bytes again, faster.");
}

function noHttp({ message }: Error): Problem {
  return new Problem("MALFORMED_HTTP", `This is not an HTTP/1.1 request: ${message.replace(/^Parse Error: ?/, "")}.`);
}

function end(socket: Duplex, problem: Problem, documentationUrl: string): void {
  // Add an error listener, because Node removes its own from the socket of a CONNECT request. Without a listener, a
  // reset of the connection would end the process.
  socket.on("error", () => socket.destroy());
  const requestId = publicId("req", newId());
  const body = JSON.stringify(problemBody(problem, requestId, documentationUrl));
  const headers = {
    ...problemHeaders(problem),
    "Cache-Control": "no-store",
    "X-Request-Id": requestId,
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const { status } = problem;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`).resume();
  // Wait before the socket is closed: closing it with unread bytes resets the connection, and the client would lose the
  // answer.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
