import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "pino";
import { InvalidConfigError } from "../settings/config.ts";

/** The address to listen on, and the names of its settings for an error message. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly settings: string;
}

/** Throws InvalidConfigError if another process uses the address, or if this machine does not have the address. */
export async function listen(server: Server, { host, port, settings }: ListenAddress, log: Logger): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, resolve);
    });
  } catch (error) {
    throw new InvalidConfigError([
      `${settings}: the service cannot listen on this address: ${(error as Error).message}`,
    ]);
  }
  server.on("error", (error) => log.error({ error }, "error of the HTTP server"));
}

/** Returns the URL of a listening server, with the port that the system assigned if the port was 0. */
export function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
