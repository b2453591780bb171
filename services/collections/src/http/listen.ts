import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "pino";
import { InvalidConfigError } from "../settings/config.ts";

/** Where to listen, and the names of the settings that it comes from, for an error. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly settings: string;
}

/** Throws InvalidConfigError when another process uses the address, or when it is not an address of this machine. */
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

/** The URL of a listening server, with the port that the system assigned if the port was 0. */
export function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
