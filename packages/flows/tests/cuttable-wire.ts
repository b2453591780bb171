import { EventEmitter, once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CuttableWire {
  readonly url: string;
  /** Breaks all connections and rejects new ones, until `mend` is called. */
  cut(): void;
  mend(): void;
  /** Resolves when a new connection is rejected. */
  refused(): Promise<unknown>;
  close(): void;
}

/** Starts a TCP proxy to PostgreSQL. */
export async function cuttableWire(to: URL): Promise<CuttableWire> {
  const sockets = new Set<Socket>();
  const refusals = new EventEmitter();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      refusals.emit("refusal");
      return;
    }
    const far = connect(Number(to.port), to.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => (near.destroy(), far.destroy()));
    }
    near.pipe(far).pipe(near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(to);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => (isCut = false),
    refused: () => once(refusals, "refusal"),
    close: () => void server.close(),
  };
}
