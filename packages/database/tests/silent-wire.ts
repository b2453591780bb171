import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A wire to a PostgreSQL that can go silent, as a cut one does: it swallows what is sent, and neither end is told. */
export interface SilentWire {
  readonly url: string;
  goSilent(): void;
  /** Carries again what is sent from now on. */
  speak(): void;
  /** What it has swallowed of what was sent to the server. */
  swallowed(): string;
  /** When it swallows something next. */
  swallows(): Promise<unknown>;
  close(): void;
}

export async function silentWire(to: string): Promise<SilentWire> {
  const target = new URL(to);
  const sockets = new Set<Socket>();
  let isSilent = false;
  let swallowed = "";
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    sockets.add(near);
    near.on("error", () => {}).on("close", () => far.destroy());
    far.on("error", () => {}).on("close", () => near.destroy());
    far.on("data", (bytes) => !isSilent && near.write(bytes));
    near.on("data", (bytes) => {
      if (!isSilent) return far.write(bytes);
      swallowed += bytes.toString("latin1");
      return server.emit("swallowed");
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
    speak: () => {
      isSilent = false;
    },
    swallowed: () => swallowed,
    swallows: () => once(server, "swallowed"),
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
