import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** Stands before a lender and passes everything on; now and then the answer's length is not what it says. */
export interface LyingFront {
  readonly url: string;
  /** Asked for each answer; nothing is a lie unless told. */
  lies: () => boolean;
  close(): void;
}

/** What follows the head of an answer of one of these is more or less than they promise. */
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

let told = 0;

function passOn(behind: string, incoming: IncomingMessage, outgoing: ServerResponse, lies: () => boolean): void {
  const { method, url, headers } = incoming;
  const onward = httpRequest(new URL(url ?? "/", behind), { method, headers, agent: false });
  incoming.pipe(onward);
  onward.on("response", (answer) => {
    // Not where the lender refuses: a lie says 200, and would take what nobody has taken.
    if (answer.statusCode === 200 && lies()) {
      answer.resume();
      told += 1;
      lie(incoming.socket, LIES[told % LIES.length]!);
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(outgoing);
    answer.on("error", () => outgoing.destroy());
  });
  onward.on("error", () => incoming.socket.destroy());
  // Who has gone does not hold up the lender.
  outgoing.on("close", () => onward.destroy());
}

function lie(socket: Socket, rest: string): void {
  socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${rest}`);
}
