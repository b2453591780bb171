import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/**
 * A fixed address in front of a PostgreSQL that may move, like a virtual IP. Its connections can be cut, and it can
 * then lead to another server.
 */
export class Relay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #url: URL;
  #target: URL;
  #isCut = false;
  #losesCommit = false;

  private constructor(server: Server, target: string) {
    this.#server = server;
    this.#url = new URL(target);
    this.#url.port = String((server.address() as AddressInfo).port);
    this.#target = new URL(target);
    server.on("connection", (near) => this.#join(near));
  }

  static async open(target: string): Promise<Relay> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Relay(server, target);
  }

  get url(): string {
    return this.#url.href;
  }

  /** Closes every connection and rejects new ones. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Accepts connections again after a cut. */
  mend(): void {
    this.#isCut = false;
  }

  leadTo(target: string): void {
    this.#target = new URL(target);
    this.mend();
  }

  /** Cuts the connections after the next COMMIT was executed and before its answer arrives. */
  loseNextCommit(): void {
    this.#losesCommit = true;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(near: Socket): void {
    if (this.#isCut) {
      near.destroy();
      return;
    }
    const far = connect(Number(this.#target.port), this.#target.hostname);
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on("error", () => {}).on("close", () => [near, far].forEach((end) => this.#sockets.delete(end.destroy())));
    }
    near.pipe(far).pipe(near);
    near.on("data", (sent: Buffer) => {
      if (!this.#losesCommit || !sent.includes("commit")) return;
      this.#losesCommit = false;
      far.unpipe(near);
      far.on("data", (answer: Buffer) => answer.includes("COMMIT") && this.cut());
    });
  }
}
