import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** An HTTP/1.1 answer. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

const HEAD_END = "\r\n\r\n";

/**
 * One kept-alive HTTP connection that sends prepared bytes and reads answers that have a Content-Length. A complete
 * HTTP client library would distort the measurement: it needed as much processor time as the service, and both run on
 * the same processors.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #waiting: { resolve(answer: HttpAnswer): void; reject(error: Error): void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay();
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (error) => this.#waiting?.reject(error));
    socket.on("close", () => this.#waiting?.reject(new Error("The service closed the connection.")));
  }

  /** Connects to the host and port of a URL. */
  static async open(url: URL): Promise<HttpConnection> {
    const socket = connect(Number(url.port), url.hostname);
    await once(socket, "connect");
    return new HttpConnection(socket);
  }

  /** Sends one request and resolves with its answer. Only one request at a time. */
  send(request: Buffer): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) throw new Error("The connection is closed.");
      this.#waiting = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const answer = readAnswer(this.#received);
    if (!answer) return;
    this.#received = Buffer.alloc(0);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }
}

/** Returns the answer that the bytes contain, or undefined if it is incomplete. */
export function readAnswer(received: Buffer): HttpAnswer | undefined {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const head = received.toString("latin1", 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`The answer has no Content-Length:\n${head}`);
  const bodyStart = headEnd + HEAD_END.length;
  if (received.length < bodyStart + Number(length)) return undefined;
  return { status: Number(head.slice(9, 12)), body: received.toString("utf8", bodyStart) };
}
