import { STATUS_CODES, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { newId, publicId } from "@collections/database";
import { Problem, problemBody, problemHeaders } from "./problem.ts";

const LINGER_MS = 1_000;

/** What Node's parser says of a request, where that is something else than that it is no HTTP. */
const PROBLEMS: Readonly<Record<string, () => Problem>> = {
  HPE_HEADER_OVERFLOW: () =>
    new Problem("HEADERS_TOO_LARGE", "Request line and headers may have 16 KiB together; send less."),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () =>
    new Problem("MALFORMED_HTTP", "The chunks of the body have extensions of more than 16 KiB; send them without."),
  ERR_HTTP_REQUEST_TIMEOUT: tooSlow,
};

/**
 * Has a server answer what never becomes a request, or only half of one, like everything else that it refuses: by a
 * problem (contract: Errors). Node alone answers a bare status line.
 */
export function answerUnreadable(server: Server): void {
  const answers = new WeakMap<Duplex, ServerResponse>();
  const refused = new WeakSet<Duplex>();
  server.on("request", ({ socket }, response) => answers.set(socket, response));
  // No expectation but 100-continue means anything to us, and whoever has another is served all the same.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_, socket) =>
    end(socket, new Problem("ROUTE_NOT_FOUND", "This is no proxy: CONNECT leads nowhere.")),
  );
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // What a refused client goes on to send fails once more.
    if (refused.has(socket)) return;
    refused.add(socket);
    // Bytes behind the beginning of an answer would be taken for its end.
    if (isHalfway(answers.get(socket)) || !socket.writable) socket.destroy(error);
    else end(socket, PROBLEMS[error.code ?? ""]?.() ?? noHttp(error));
  });
}

function isHalfway(answer: ServerResponse | undefined): boolean {
  return answer !== undefined && answer.headersSent && !answer.writableFinished;
}

/** A request that did not come fast enough. contract: Limits */
export function tooSlow(): Problem {
  return new Problem("REQUEST_TIMEOUT", "The request did not arrive in time; send the same bytes again, faster.");
}

function noHttp({ message }: Error): Problem {
  return new Problem("MALFORMED_HTTP", `This is no HTTP/1.1 request: ${message.replace(/^Parse Error: ?/, "")}.`);
}

function end(socket: Duplex, problem: Problem): void {
  // Node leaves the socket of a CONNECT to us: a reset that nobody hears would end the process.
  socket.on("error", () => socket.destroy());
  const requestId = publicId("req", newId());
  const body = JSON.stringify(problemBody(problem, requestId));
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
  // Closed at once, with bytes left to read, the connection would be reset, and the answer lost.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
