import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "pino";
import { addressOf } from "./address-of.ts";

export interface ConnectionLimit {
  readonly maxConnections: number;
  /** Where the limit comes from, for the log. */
  readonly setting: string;
  /**
   * Whether this address is a trusted proxy. The connections of a proxy carry many clients, so they are not limited by
   * address.
   */
  readonly isProxy: (address: string) => boolean;
  readonly log: Logger;
  /** Called for each refused connection, with the limit that it exceeded. */
  readonly onRefused?: (limit: RefusedBy) => void;
}

/** The limit that refused a connection: the number of `all` connections, or of those from one `address`. */
export type RefusedBy = "all" | "address";

/** One address may have a quarter of all connections. */
const SHARE_OF_ADDRESS = 4;
/** The shortest time between two log entries about the same limit, and between two closings of idle connections. */
const AGAIN_AFTER_MS = 1_000;

/** Limits how many connections a server has, in all and from one address. Closes further connections at once. */
export function limitConnections(server: Server, options: ConnectionLimit): void {
  const { maxConnections, setting, isProxy, log, onRefused } = options;
  const perAddress = Math.ceil(maxConnections / SHARE_OF_ADDRESS);
  const byAddress = new Map<string, number>();
  const isDue = { inAll: rarely(), ofAddress: rarely() };

  server.maxConnections = maxConnections;
  server.on("drop", () => {
    onRefused?.("all");
    if (!isDue.inAll()) return;
    log.warn({ maxConnections }, `connections are refused: this process has as many as ${setting} allows`);
    // Closing idle connections makes room for new clients. A client that loses an idle connection opens another one
    // when it needs a connection.
    server.closeIdleConnections();
  });
  server.on("connection", (socket: Socket) => {
    const peer = socket.remoteAddress;
    if (peer === undefined || isProxy(peer)) return;
    const address = addressOf({ ip: peer, socket });
    const count = (byAddress.get(address) ?? 0) + 1;
    if (count > perAddress) {
      socket.destroy();
      onRefused?.("address");
      if (isDue.ofAddress())
        log.warn(
          { address, perAddress },
          `connections from one address are refused: the address already has a quarter of what ${setting} allows`,
        );
      return;
    }
    byAddress.set(address, count);
    socket.once("close", () => {
      const left = byAddress.get(address)! - 1;
      if (left === 0) byAddress.delete(address);
      else byAddress.set(address, left);
    });
  });
}

/** Returns a function that returns true at most once in AGAIN_AFTER_MS. */
function rarely(): () => boolean {
  let lastMs = -Infinity;
  return () => {
    const nowMs = performance.now();
    if (nowMs - lastMs < AGAIN_AFTER_MS) return false;
    lastMs = nowMs;
    return true;
  };
}
