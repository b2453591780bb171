import { stat } from "node:fs/promises";
import type { ResolverOptions } from "node:dns";
import { Resolver } from "node:dns/promises";

const RESOLV_CONF = "/etc/resolv.conf";

/** Where the addresses of the DNS servers come from. */
export interface DnsServers {
  /** Makes a resolver that queries the servers as they are now. */
  open(options: ResolverOptions): Resolver;
  /** Returns a text that changes when the servers may have changed. */
  version(): Promise<string>;
}

/**
 * The DNS servers of the system. Node reads them when it makes a `Resolver`, and never again for this `Resolver`.
 */
export const SYSTEM_DNS_SERVERS: DnsServers = {
  open: (options) => new Resolver(options),
  version: () => versionOf(RESOLV_CONF),
};

/** Returns a text that changes when the file is written or replaced. A missing file has a version, too. */
export async function versionOf(file: string): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await stat(file);
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return "none";
  }
}
