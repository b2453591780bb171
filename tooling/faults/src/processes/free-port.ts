import { createServer } from "node:net";

/**
 * The first port to choose from. All ports are below the range that systems assign to outgoing connections. So the port
 * of a dead process stays free until its successor starts.
 */
const FIRST_PORT = 11_000;
const PORTS = 10_000;

const given = new Set<number>();

/** A port that is free now and that this process returns only once. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (given.has(port)) continue;
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    given.add(port);
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}
