import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy to PostgreSQL that can imitate a broken network: it drops all bytes, and keeps both connections open. */
export interface SilentWire {
  readonly url: string;
  /** Drops all bytes from now on. */
  goSilent(): void;
  /** Drops all bytes of the connections that are open now, for as long as they exist. Later connections work. */
  swallow(): void;
  /** Passes all bytes on again from now on. */
  speak(): void;
  /** The dropped bytes that were sent to the server. */
  dropped(): string;
  /** Resolves as soon as bytes to the server are dropped after this call. */
  nextDrop(): Promise<unknown>;
  close(): void;
}

export async function silentWire(to: string): Promise<SilentWire> {
  const target = new URL(to);
  const sockets = new Set<Socket>();
  const swallowed = new WeakSet<Socket>();
  let isSilent = false;
  let dropped = "";
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    sockets.add(near);
    near.on("error", () => {}).on("close", () => far.destroy());
    far.on("error", () => {}).on("close", () => near.destroy());
    const isDropped = () => isSilent || swallowed.has(near);
    far.on("data", (bytes) => !isDropped() && near.write(bytes));
    near.on("data", (bytes) => {
      if (!isDropped()) return far.write(bytes);
      dropped += bytes.toString("latin1");
      return server.emit("dropped");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(to);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    goSilent: () => {
      isSilent = true;
    },
    swallow: () => {
      for (const socket of sockets) swallowed.add(socket);
    },
    speak: () => {
      isSilent = false;
    },
    dropped: () => dropped,
    nextDrop: () => once(server, "dropped"),
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
