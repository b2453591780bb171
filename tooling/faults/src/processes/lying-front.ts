import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** A proxy in front of a lender. Some of its answers have a length that does not match their headers. */
export interface LyingFront {
  readonly url: string;
  /** Called for each answer 200. Returns whether to send a wrong answer instead; by default returns false. */
  lies: () => boolean;
  close(): void;
}

/** The ends of wrong answers: the last header lines, and a body that is longer or shorter than these lines announce. */
const LIES = [
  "Content-Length: 4096\r\n\r\n{}",
  "Content-Length: 1\r\n\r\n{}{}{}",
  "Content-Length: 2\r\nContent-Length: 7\r\n\r\n{}",
  "Transfer-Encoding: chunked\r\n\r\nffff\r\n{}",
  "Content-Length: -1\r\n\r\n{}",
];

export async function openLyingFront(behind: string): Promise<LyingFront> {
  const server = createServer((incoming, outgoing) => passOn(behind, incoming, outgoing, () => front.lies()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const front: LyingFront = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lies: () => false,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return front;
}

let liesSent = 0;

function passOn(behind: string, incoming: IncomingMessage, outgoing: ServerResponse, lies: () => boolean): void {
  const { method, url, headers } = incoming;
  const onward = httpRequest(new URL(url ?? "/", behind), { method, headers, agent: false });
  incoming.pipe(onward);
  onward.on("response", (answer) => {
    // A wrong answer has the status 200. So it replaces only a 200: otherwise it could acknowledge what the lender
    // rejected.
    if (answer.statusCode === 200 && lies()) {
      answer.resume();
      liesSent += 1;
      lie(incoming.socket, LIES[liesSent % LIES.length]!);
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(outgoing);
    answer.on("error", () => outgoing.destroy());
  });
  onward.on("error", () => incoming.socket.destroy());
  // Cancels the call to the lender if the caller has disconnected.
  outgoing.on("close", () => onward.destroy());
}

function lie(socket: Socket, rest: string): void {
  socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${rest}`);
}
