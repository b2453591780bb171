import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Starts a TCP proxy to PostgreSQL. `cut` breaks all connections and rejects new ones, until `mend` is called. */
export async function cuttableWire(to: URL): Promise<{ url: string; cut(): void; mend(): void; close(): void }> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
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
    close: () => void server.close(),
  };
}
